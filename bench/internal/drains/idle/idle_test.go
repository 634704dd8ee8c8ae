// SPDX-License-Identifier: Apache-2.0

package idle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var zero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }

func evicted(pod string, began, ended int) Eviction {
	return Eviction{Pod: pod, Began: at(began), Ended: at(ended), Accepted: true}
}

func refused(pod string, began, ended int) Eviction {
	return Eviction{Pod: pod, Began: at(began), Ended: at(ended)}
}

func TestOf(t *testing.T) {
	open := []Version{{at(-5), true}}
	cases := map[string]struct {
		drain Drain // of 10 s
		want  Shares
	}{
		"nothing to do is not idle": {Drain{Budgets: map[string][]Version{"x": open}}, Shares{}},
		"a budget that never allows": {
			Drain{Pods: map[string]string{"p": "x"}, Budgets: map[string][]Version{"x": {{at(-1), false}}}}, Shares{},
		},
		"nobody evicts": {
			Drain{Pods: map[string]string{"p": "x"}, Budgets: map[string][]Version{"x": open}}, Shares{1, 1},
		},
		"late": {
			Drain{Pods: map[string]string{"p": "x"}, Budgets: map[string][]Version{"x": open}, Evictions: []Eviction{evicted("p", 3, 4)}},
			Shares{.3, .3},
		},
		"a pod without a budget is always evictable": {
			Drain{Pods: map[string]string{"p": ""}, Evictions: []Eviction{evicted("p", 2, 3)}}, Shares{.2, .2},
		},
		"terminating pods are not evictable": {
			Drain{
				Pods: map[string]string{"p": "x", "q": "x"}, Budgets: map[string][]Version{"x": open},
				Evictions: []Eviction{evicted("p", 0, 1), evicted("q", 1, 2)},
			}, Shares{},
		},
		"refused, then asleep while the budget opens": {
			Drain{
				Pods:      map[string]string{"p": "x"},
				Budgets:   map[string][]Version{"x": {{at(-1), false}, {at(2), true}}},
				Evictions: []Eviction{refused("p", 0, 1), evicted("p", 6, 7)},
			}, Shares{.4, .4},
		},
		"a budget that closes again": {
			Drain{
				Pods:      map[string]string{"p": "x"},
				Budgets:   map[string][]Version{"x": {{at(1), true}, {at(3), false}}},
				Evictions: []Eviction{refused("p", 8, 9)},
			}, Shares{.2, .2},
		},
		"one at a time leaves the other budget idle": {
			Drain{
				Pods:      map[string]string{"p": "x", "q": "y"},
				Budgets:   map[string][]Version{"x": open, "y": open},
				Evictions: []Eviction{evicted("p", 0, 4), evicted("q", 4, 8)},
			}, Shares{0, .2},
		},
		"evictions of others do not count": {
			Drain{
				Pods: map[string]string{"p": "x"}, Budgets: map[string][]Version{"x": open},
				Evictions: []Eviction{evicted("other", 0, 9), evicted("p", 9, 10)},
			}, Shares{.9, .9},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.drain.Began, c.drain.Ended = at(0), at(10)
			if diff := cmp.Diff(c.want, Of(c.drain), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
		})
	}
}
