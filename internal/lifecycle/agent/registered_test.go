// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// registeredOn is a Node with drivers. A write of the same list changes nothing.
type registeredOn struct {
	names  []string
	writes []string
	fails  int
}

func (n *registeredOn) write(_ context.Context, names []string) error {
	if n.fails > 0 {
		n.fails--
		return errors.New("no")
	}
	if list := strings.Join(names, ","); len(n.writes) == 0 || n.writes[len(n.writes)-1] != list {
		n.writes = append(n.writes, list)
	}
	return nil
}

func TestTheNodeSaysWhichDriversAreRegisteredOnceTheyStay(t *testing.T) {
	for name, tc := range map[string]struct {
		fails int
		// script is what happens, and how long after it nothing does.
		script func(change func(names ...string), pass func(time.Duration))
		want   string
	}{
		"a driver that registers at the start is written once": {0, func(change func(...string), pass func(time.Duration)) {
			change("drain")
			pass(time.Hour)
		}, "drain"},
		"none is worth a word as well": {0, func(_ func(...string), pass func(time.Duration)) { pass(time.Hour) }, ""},
		"a driver that restarts is no news": {0, func(change func(...string), pass func(time.Duration)) {
			change("drain")
			pass(time.Minute)
			change()
			pass(settleTime - time.Second)
			change("drain")
			pass(time.Hour)
		}, "drain"},
		"a driver that is as it was is no news": {0, func(change func(...string), pass func(time.Duration)) {
			for range 3 { // as when a connection comes to rest, and is used again
				change("drain")
				pass(time.Minute)
			}
		}, "drain"},
		"a driver that stays away is": {0, func(change func(...string), pass func(time.Duration)) {
			change("drain", "firmware")
			pass(time.Minute)
			change("drain")
			pass(time.Hour)
		}, "drain,firmware drain"},
		"a write that fails is tried again": {2, func(change func(...string), pass func(time.Duration)) {
			change("drain")
			pass(settleTime + 3*retryTime)
		}, "drain"},
		"a write that fails is tried again although nothing has changed": {1, func(change func(...string), pass func(time.Duration)) {
			pass(settleTime + time.Second)
			change()
			pass(time.Hour)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
			on := &registeredOn{fails: tc.fails}
			r := &registered{clock: clock, names: func() []string { return on.names }, write: on.write}
			due := clock.Now()
			pass := func(d time.Duration) {
				end := clock.Now().Add(d)
				for !due.IsZero() && !due.After(end) {
					clock.SetTime(due)
					result, err := r.Reconcile(t.Context(), "")
					if err != nil {
						t.Error(err)
					}
					due = time.Time{}
					if result.RequeueAfter > 0 {
						due = clock.Now().Add(result.RequeueAfter)
					}
				}
				clock.SetTime(end)
			}
			tc.script(func(names ...string) {
				on.names = names
				due = clock.Now()
				pass(0)
			}, pass)
			if got := strings.Join(on.writes, " "); got != tc.want {
				t.Errorf("it wrote %q; want %q", got, tc.want)
			}
		})
	}
}
