// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPace(t *testing.T) {
	soon := noon.Add(time.Second)
	forDB := func(pdb *policyv1.PodDisruptionBudget) { pdb.Spec.Selector.MatchLabels["app"] = "db" }
	db := func(p *corev1.Pod) { p.Labels["app"] = "db" }
	cases := map[string]struct {
		pods    []*corev1.Pod
		budgets []*budget
		change  func(*facts)
		send    []string
		held    map[string]Reason
		wake    time.Time
	}{
		"pods without a budget go together": {
			pods: []*corev1.Pod{newPod("a"), newPod("b")},
			send: []string{"a", "b"},
		},
		"one goes at a time under one budget": {
			pods:    []*corev1.Pod{newPod("a"), newPod("b")},
			budgets: []*budget{newPDB("web", func(p *policyv1.PodDisruptionBudget) { p.Status.DisruptionsAllowed = 2 })},
			send:    []string{"a"},
		},
		"budgets do not wait for each other": {
			pods:    []*corev1.Pod{newPod("a"), newPod("b", db), newPod("c")},
			budgets: []*budget{newPDB("web"), newPDB("db", forDB)},
			send:    []string{"a", "b"},
		},
		"a budget that allows none holds its pods and no others": {
			pods:    []*corev1.Pod{newPod("a"), newPod("b", db)},
			budgets: []*budget{newPDB("web", exhausted)},
			send:    []string{"b"},
			held:    map[string]Reason{"a": BudgetExhausted},
		},
		"a slot that another drain has taken is waited for": {
			pods:    []*corev1.Pod{newPod("a")},
			budgets: []*budget{newPDB("web")},
			change:  func(f *facts) { f.reserved["uid-web"] = time.Time{} },
		},
		"a slot whose effect is not seen yet is waited for, but not for ever": {
			pods:    []*corev1.Pod{newPod("a")},
			budgets: []*budget{newPDB("web")},
			change:  func(f *facts) { f.reserved["uid-web"] = soon },
			wake:    soon,
		},
		"a pod that needs no budget does not wait for its slot": {
			pods:    []*corev1.Pod{newPod("a", phase(corev1.PodPending))},
			budgets: []*budget{newPDB("web")},
			change:  func(f *facts) { f.reserved["uid-web"] = time.Time{} },
			send:    []string{"a"},
		},
		"a pod that is leaving is left alone": {
			pods: []*corev1.Pod{newPod("a", endingAt(noon))},
		},
		"a pod whose eviction is not answered is not evicted again": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { f.tries["uid-a"] = try{inFlight: true} },
		},
		"a pod whose eviction was accepted is waited for": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { f.tries["uid-a"] = try{outcome: accepted, notBefore: soon} },
			wake:   soon,
		},
		"a refused pod holds no other, and says why": {
			pods: []*corev1.Pod{newPod("a"), newPod("b")},
			change: func(f *facts) {
				f.tries["uid-a"] = try{outcome: refused, notBefore: soon, refusal: &obstacle{reason: EvictionRefused}}
			},
			send: []string{"b"},
			held: map[string]Reason{"a": EvictionRefused},
			wake: soon,
		},
		"a refused pod still says why while it is tried again": {
			pods: []*corev1.Pod{newPod("a")},
			change: func(f *facts) {
				f.tries["uid-a"] = try{outcome: refused, inFlight: true, refusal: &obstacle{reason: EvictionRefused}}
			},
			held: map[string]Reason{"a": EvictionRefused},
		},
		"a refused pod still says why when its pause is over": {
			pods: []*corev1.Pod{newPod("a")},
			change: func(f *facts) {
				f.tries["uid-a"] = try{outcome: refused, notBefore: noon, refusal: &obstacle{reason: EvictionRefused}}
			},
			send: []string{"a"},
			held: map[string]Reason{"a": EvictionRefused},
		},
		"what a budget said does not hold when the budget has changed": {
			pods:    []*corev1.Pod{newPod("a")},
			budgets: []*budget{newPDB("web")},
			change: func(f *facts) {
				f.tries["uid-a"] = try{outcome: budgetRefused, notBefore: soon, stamp: "before", refusal: &obstacle{reason: BudgetExhausted}}
			},
			send: []string{"a"},
		},
		"an overloaded server is left in peace": {
			pods:   []*corev1.Pod{newPod("a"), newPod("b")},
			change: func(f *facts) { f.brake = brake{until: soon} },
			wake:   soon,
		},
		"nothing goes before the node is cordoned": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { f.node.unschedulable = false },
		},
		"the cordon is enough to begin, the taint may come later": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { f.node.tainted = false },
			send:   []string{"a"},
		},
		"nothing goes from a node that does not exist": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { f.node = nodeFacts{known: true} },
		},
		"nothing goes before the budgets of the namespace are known": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { clear(f.budgets) },
		},
		"no more than the limit are in flight": {
			pods:   []*corev1.Pod{newPod("a"), newPod("b"), newPod("c")},
			change: func(f *facts) { f.inFlight = maxInFlight - 2 },
			send:   []string{"a", "b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := calm(tc.budgets...)
			if tc.change != nil {
				tc.change(&f)
			}
			paced := pace(order(leavers(tc.pods...), ""), f)
			var sent []string
			for _, s := range paced.sends {
				sent = append(sent, s.pod.Name)
			}
			var held map[string]Reason
			for _, pod := range tc.pods {
				if o := paced.holds[pod.UID]; o != nil {
					if held == nil {
						held = map[string]Reason{}
					}
					held[pod.Name] = o.reason
				}
			}
			if diff := cmp.Diff(tc.send, sent); diff != "" {
				t.Errorf("sent (-want, +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.held, held); diff != "" {
				t.Errorf("held (-want, +got):\n%s", diff)
			}
			if !paced.wake.Equal(tc.wake) {
				t.Errorf("wake: got %s, want %s", paced.wake, tc.wake)
			}
		})
	}
}

func TestDecideAsksForTheLastLookOnlyWhenNothingIsLeft(t *testing.T) {
	cases := map[string]struct {
		change func(*facts)
		want   bool
		wake   time.Time
	}{
		"no pod, cordoned and tainted": {func(*facts) {}, true, time.Time{}},
		"a pod of a DaemonSet stays": {func(f *facts) {
			f.pods = []*corev1.Pod{newPod("a", ownedBy("apps/v1", "DaemonSet", true))}
		}, true, time.Time{}},
		"a pod is left":             {func(f *facts) { f.pods = []*corev1.Pod{newPod("a")} }, false, time.Time{}},
		"a pod is terminating":      {func(f *facts) { f.pods = []*corev1.Pod{newPod("a", endingAt(noon))} }, false, noon.Add(overdueAfter)},
		"the pods are not known":    {func(f *facts) { f.podsKnown = false }, false, time.Time{}},
		"the node is not known":     {func(f *facts) { f.node = nodeFacts{} }, false, time.Time{}},
		"the node is schedulable":   {func(f *facts) { f.node.unschedulable = false }, false, time.Time{}},
		"the taint is missing":      {func(f *facts) { f.node.tainted = false }, false, time.Time{}},
		"the node does not exist":   {func(f *facts) { f.node = nodeFacts{known: true} }, true, time.Time{}},
		"the last look was no good": {func(f *facts) { f.last.notBefore = noon.Add(time.Second) }, false, noon.Add(time.Second)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := calm()
			tc.change(&f)
			if got := decide(f); got.confirm != tc.want || !got.wake.Equal(tc.wake) {
				t.Errorf("got %t, wake %s; want %t, wake %s", got.confirm, got.wake, tc.want, tc.wake)
			}
		})
	}
}

func TestOrderIsTheSameEachTime(t *testing.T) {
	twin := newPod("a", func(p *corev1.Pod) { p.UID = "uid-a-before" })
	other := newPod("z", func(p *corev1.Pod) { p.Namespace = "aaa" })
	var got []types.UID
	for _, step := range order(leavers(newPod("b"), newPod("a"), twin, other), "") {
		for _, l := range step {
			got = append(got, l.pod.UID)
		}
	}
	if diff := cmp.Diff("[uid-a uid-a-before uid-b uid-z]", fmt.Sprint(got)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A pod of a namespace whose rules have not been read makes the others wait. It does not make the drain forget them.
func TestWaitingForRulesForgetsNothing(t *testing.T) {
	b, f := newMemory(), calm(newPDB("web", exhausted))
	f.ruled, f.rules = true, map[string][]Rule{"default": nil}
	f.budgets["tools"] = nil
	f.request.Escalation.DeleteAfter = time.Hour
	held := newPod("held")
	debug := newPod("debug", func(p *corev1.Pod) { p.Namespace = "tools" })
	look := func(after time.Duration, pods ...*corev1.Pod) plan {
		f.now, f.pods = noon.Add(after), pods
		b.saw(pods, func(types.UID) bool { return true })
		b.fill(&f)
		p := decide(f)
		b.keep(p.notes)
		return p
	}
	first := look(0, held)
	for _, after := range []time.Duration{time.Minute, 2 * time.Minute} {
		p := look(after, held, debug)
		if len(p.evict) > 0 {
			t.Errorf("after %s: sent %v", after, p.evict)
		}
		if diff := cmp.Diff(first.status.Blockers, p.status.Blockers); diff != "" {
			t.Errorf("after %s: blockers (-before, +now):\n%s", after, diff)
		}
		if diff := cmp.Diff(first.notes.turns, p.notes.turns); diff != "" {
			t.Errorf("after %s: turns (-before, +now):\n%s", after, diff)
		}
		if diff := cmp.Diff(first.notes.refusals, p.notes.refusals); diff != "" {
			t.Errorf("after %s: refusals (-before, +now):\n%s", after, diff)
		}
	}
}
