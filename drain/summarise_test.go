// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestSummarise(t *testing.T) {
	overdueSince := noon.Add(-overdueAfter)
	of := func(name string, reason Reason, by string) Blocker {
		return Blocker{Pod: types.NamespacedName{Namespace: "default", Name: name}, Reason: reason, By: by, Since: noon}
	}
	cases := map[string]struct {
		pods    []*corev1.Pod
		budgets []*budget
		change  func(*facts)
		want    Status
	}{
		"a drain that goes well has no blockers": {
			pods:   []*corev1.Pod{newPod("a"), newPod("b", endingAt(noon))},
			change: func(f *facts) { f.gone = 3 },
			want:   Status{Total: 5, Done: 3, Moving: 2, Message: "3 of 5 pods gone, 1 terminating, 0 blocked"},
		},
		"before anything is known it says so": {
			change: func(f *facts) { f.podsKnown, f.node = false, nodeFacts{} },
			want:   Status{Message: "reading the node and its pods"},
		},
		"an empty node is looked at once more": {
			change: func(f *facts) { f.gone = 2 },
			want:   Status{Total: 2, Done: 2, Message: "2 of 2 pods gone, checking once more for pods"},
		},
		"a budget in the way is named": {
			pods:    []*corev1.Pod{newPod("b"), newPod("a")},
			budgets: []*budget{newPDB("web", exhausted)},
			want: Status{
				Total: 2, Message: "0 of 2 pods gone, 0 terminating, 2 blocked",
				Blockers: []Blocker{of("a", BudgetExhausted, "web"), of("b", BudgetExhausted, "web")},
			},
		},
		"a pod within its grace period is no blocker": {
			pods: []*corev1.Pod{newPod("a", endingAt(overdueSince.Add(1)), finalizers("x/y"))},
			want: Status{Total: 1, Moving: 1, Message: "0 of 1 pods gone, 1 terminating, 0 blocked"},
		},
		"a pod that should have ended is one": {
			pods: []*corev1.Pod{newPod("a", endingAt(overdueSince))},
			want: Status{
				Total: 1, Message: "0 of 1 pods gone, 1 terminating, 1 blocked",
				Blockers: []Blocker{of("a", Terminating, "")},
			},
		},
		"finalizers are named in order": {
			pods: []*corev1.Pod{newPod("a", endingAt(overdueSince), finalizers("z/z", "a/a"))},
			want: Status{
				Total: 1, Message: "0 of 1 pods gone, 1 terminating, 1 blocked",
				Blockers: []Blocker{of("a", Terminating, "a/a, z/z")},
			},
		},
		"a kubelet that does not report is the reason": {
			pods:   []*corev1.Pod{newPod("a", endingAt(overdueSince))},
			change: func(f *facts) { f.node.ready = false },
			want: Status{
				Total: 1, Message: "0 of 1 pods gone, 1 terminating, 1 blocked",
				Blockers: []Blocker{of("a", NodeNotReady, "w1")},
			},
		},
		"a node that is not cordoned comes first": {
			pods:    []*corev1.Pod{newPod("a")},
			budgets: []*budget{newPDB("web", exhausted)},
			change:  func(f *facts) { f.node.unschedulable = false },
			want: Status{
				Total: 1, Message: "0 of 1 pods gone, 0 terminating, 0 blocked",
				Blockers: []Blocker{{Reason: NodeNotCordoned, By: "w1", Since: noon}},
			},
		},
		"a missing taint matters only at the end": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { f.node.tainted = false },
			want:   Status{Total: 1, Moving: 1, Message: "0 of 1 pods gone, 0 terminating, 0 blocked"},
		},
		"a missing taint holds up the end": {
			change: func(f *facts) { f.node.tainted = false },
			want: Status{
				Message:  "0 of 0 pods gone, checking once more for pods",
				Blockers: []Blocker{{Reason: NodeTaintMissing, By: "w1", Since: noon}},
			},
		},
		"a node that is gone but has pods": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { f.node = nodeFacts{known: true} },
			want: Status{
				Total: 1, Message: "0 of 1 pods gone, 0 terminating, 0 blocked",
				Blockers: []Blocker{{Reason: NodeGone, By: "w1", Since: noon}},
			},
		},
		"an overloaded server holds up all": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { f.brake = brake{until: noon.Add(1), obstacle: &obstacle{reason: APIServerOverloaded}} },
			want: Status{
				Total: 1, Message: "0 of 1 pods gone, 0 terminating, 0 blocked",
				Blockers: []Blocker{{Reason: APIServerOverloaded, Since: noon}},
			},
		},
		"an overloaded server holds up all until it answers the next request": {
			pods:   []*corev1.Pod{newPod("a")},
			change: func(f *facts) { f.brake = brake{until: noon, obstacle: &obstacle{reason: APIServerOverloaded}} },
			want: Status{
				Total: 1, Moving: 1, Message: "0 of 1 pods gone, 0 terminating, 0 blocked",
				Blockers: []Blocker{{Reason: APIServerOverloaded, Since: noon}},
			},
		},
		"an overloaded server does not matter when there is nothing to evict": {
			pods:   []*corev1.Pod{newPod("a", endingAt(noon))},
			change: func(f *facts) { f.brake = brake{until: noon.Add(1), obstacle: &obstacle{reason: APIServerOverloaded}} },
			want:   Status{Total: 1, Moving: 1, Message: "0 of 1 pods gone, 1 terminating, 0 blocked"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := calm(tc.budgets...)
			f.pods = tc.pods
			if tc.change != nil {
				tc.change(&f)
			}
			got := decide(f).status
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Blocker{}, "Message"),
				cmpopts.IgnoreFields(Status{}, "Named")); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			for _, b := range got.Blockers {
				if b.Message == "" && b.Reason != APIServerOverloaded {
					t.Errorf("%s has no message", b.Reason)
				}
			}
		})
	}
}

func TestABlockerKeepsItsBeginningWhileItLasts(t *testing.T) {
	pod := newPod("a")
	look := func(at time.Time, since map[blockerKey]time.Time, change ...func(*policyv1.PodDisruptionBudget)) plan {
		f := calm(newPDB("web", change...))
		f.now, f.since, f.pods = at, since, []*corev1.Pod{pod}
		return decide(f)
	}
	first := look(noon, nil, exhausted)
	second := look(noon.Add(time.Minute), first.notes.since, exhausted)
	if got := second.status.Blockers[0].Since; !got.Equal(noon) {
		t.Errorf("it lasted, but since is %s", got)
	}
	gone := look(noon.Add(2*time.Minute), second.notes.since)
	back := look(noon.Add(3*time.Minute), gone.notes.since, exhausted)
	if got := back.status.Blockers[0].Since; !got.Equal(noon.Add(3 * time.Minute)) {
		t.Errorf("it came back, but since is %s", got)
	}
}

func TestDecideWakesWhenAPodBecomesOverdue(t *testing.T) {
	f := calm()
	f.pods = []*corev1.Pod{newPod("a", endingAt(noon.Add(time.Minute))), newPod("b", endingAt(noon.Add(time.Second)))}
	if got, want := decide(f).wake, noon.Add(time.Second+overdueAfter); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
