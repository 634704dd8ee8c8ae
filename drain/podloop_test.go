// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhatIsDecidedAboutPodsWithoutADrain(t *testing.T) {
	a, b := newPod("a"), newPod("b")
	open, closed := newPDB("web"), newPDB("web", exhausted)
	hot := obstacle{reason: APIServerOverloaded, message: "it asks to send less"}
	refusal := obstacle{reason: EvictionRefused, message: "a webhook says no"}
	for name, tc := range map[string]struct {
		pods    []*corev1.Pod
		change  func(*facts)
		sends   []string
		reasons []Reason
		wake    time.Duration
	}{
		"no budget holds them": {
			pods: []*corev1.Pod{a}, change: func(f *facts) { f.budgets["default"] = nil }, sends: []string{"a"}, reasons: []Reason{""},
		},
		"the budget allows one, and more would only meet at the server": {
			pods: []*corev1.Pod{a, b}, sends: []string{"a"}, reasons: []Reason{"", ""},
		},
		"the budget allows none": {
			pods:   []*corev1.Pod{a, b},
			change: func(f *facts) { f.budgets["default"] = []*budget{closed} }, reasons: []Reason{BudgetExhausted, BudgetExhausted},
		},
		"an unready pod leaves under a budget that tolerates it, past the others": {
			pods: []*corev1.Pod{a, newPod("sick", unready)},
			change: func(f *facts) {
				f.budgets["default"] = []*budget{newPDB("web", exhausted, func(p *policyv1.PodDisruptionBudget) {
					p.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
				})}
			},
			sends: []string{"sick"}, reasons: []Reason{BudgetExhausted, ""},
		},
		"the budgets are not known": {
			pods: []*corev1.Pod{a}, change: func(f *facts) { f.budgets = nil }, reasons: []Reason{""},
		},
		"the budget's slot is taken for a time": {
			pods: []*corev1.Pod{a}, change: func(f *facts) { f.reserved[open.UID] = noon.Add(time.Second) }, reasons: []Reason{""}, wake: time.Second,
		},
		"one is on its way": {
			pods: []*corev1.Pod{a, b},
			change: func(f *facts) {
				f.tries[a.UID], f.reserved[open.UID] = try{inFlight: true}, time.Time{}
			},
			reasons: []Reason{"", ""},
		},
		"the server is too busy": {
			pods: []*corev1.Pod{a}, change: func(f *facts) { f.brake = brake{until: noon.Add(time.Minute), obstacle: &hot} },
			reasons: []Reason{APIServerOverloaded}, wake: time.Minute,
		},
		"the server was too busy, and one is on its way again": {
			pods: []*corev1.Pod{a},
			change: func(f *facts) {
				f.brake, f.tries[a.UID] = brake{until: noon, obstacle: &hot}, try{inFlight: true}
			},
			reasons: []Reason{APIServerOverloaded},
		},
		"one was refused and rests; the other goes": {
			pods: []*corev1.Pod{a, b},
			change: func(f *facts) {
				f.tries[a.UID] = try{outcome: refused, refusal: &refusal, notBefore: noon.Add(time.Second)}
			},
			sends: []string{"b"}, reasons: []Reason{EvictionRefused, ""}, wake: time.Second,
		},
		"it is ending, within its time": {
			pods: []*corev1.Pod{newPod("a", endingAt(noon.Add(time.Minute)))}, reasons: []Reason{""}, wake: time.Minute + overdueAfter,
		},
		"it is ending, and should have ended": {
			pods: []*corev1.Pod{newPod("a", endingAt(noon.Add(-time.Minute)), finalizers("example.com/keep"))}, reasons: []Reason{Terminating},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts{
				now: noon, node: nodeFacts{ready: true}, pods: tc.pods, budgets: map[string][]*budget{"default": {open}},
				reserved: map[types.UID]time.Time{}, memory: newMemory(),
			}
			if tc.change != nil {
				tc.change(&f)
			}
			d := decidePods(f)
			var sends []string
			for _, s := range d.sends {
				sends = append(sends, s.pod.Name)
			}
			var reasons []Reason
			for _, pod := range f.pods {
				reasons = append(reasons, d.blockers[pod.UID].Reason)
			}
			if diff := cmp.Diff(tc.sends, sends); diff != "" {
				t.Errorf("sends (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.reasons, reasons); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
			want := time.Time{}
			if tc.wake > 0 {
				want = noon.Add(tc.wake)
			}
			if !d.wake.Equal(want) {
				t.Errorf("wakes at %s, want %s", d.wake, want)
			}
		})
	}
}
