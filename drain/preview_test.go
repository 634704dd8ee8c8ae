// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// preview asks about node w1 with these pods, and gives a line for each of them.
func preview(t *testing.T, s Snapshot, request Request, pods ...*corev1.Pod) []string {
	t.Helper()
	s.Nodes = []NodeSnapshot{{Node: readyNode("w1"), Pods: pods, Request: request}}
	outlooks, err := Preview(s, noon)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range outlooks[0].Pods {
		line := fmt.Sprintf("%s: step %d, round %d, %s %s%s", p.Pod.Name, p.Step, p.Round, p.Verdict, p.Reason, p.Exemption)
		if len(p.LocalStorage) > 0 {
			line += ", loses " + strings.Join(p.LocalStorage, " ")
		}
		if p.Unmanaged {
			line += ", nobody starts it again"
		}
		lines = append(lines, line)
	}
	return lines
}

func readyNode(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// allowing is a budget for app=web that allows so many disruptions of three pods.
func allowing(n int32) Snapshot {
	return Snapshot{Budgets: map[string][]*policyv1.PodDisruptionBudget{"default": {newPDB("web", func(b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptionsAllowed, b.Status.DesiredHealthy = n, 3-n
	}).PodDisruptionBudget}}}
}

func TestAPreview(t *testing.T) {
	managed := ownedBy("apps/v1", "ReplicaSet", true)
	for name, tc := range map[string]struct {
		snapshot Snapshot
		request  Request
		pods     []*corev1.Pod
		want     []string
	}{
		"all pods of a step leave together, those of the next when they are gone": {
			pods: []*corev1.Pod{newPod("b", managed), newPod("last", managed, priority(9)), newPod("a", managed)},
			want: []string{"a: step 1, round 1, Evict ", "b: step 1, round 1, Evict ", "last: step 2, round 2, EvictLater "},
		},
		"who drains leaves last": {
			snapshot: Snapshot{OwnNamespace: "slipway-system"},
			pods:     []*corev1.Pod{newPod("own", managed, func(p *corev1.Pod) { p.Namespace = "slipway-system" }), newPod("a", managed, priority(9))},
			want:     []string{"a: step 1, round 1, Evict ", "own: step 2, round 2, EvictLater "},
		},
		"a budget lets some go, and the others when replacements are ready": {
			snapshot: allowing(1),
			pods:     []*corev1.Pod{newPod("a", managed), newPod("b", managed), newPod("c", managed)},
			want:     []string{"a: step 1, round 1, Evict ", "b: step 1, round 2, EvictLater BudgetExhausted", "c: step 1, round 3, EvictLater BudgetExhausted"},
		},
		"a pod that fits nowhere keeps its budget from allowing more": {
			snapshot: func() Snapshot {
				s := allowing(1)
				s.Unreplaced = map[types.UID]bool{"uid-b": true}
				return s
			}(),
			pods: []*corev1.Pod{newPod("a", managed), newPod("b", managed), newPod("c", managed)},
			want: []string{"a: step 1, round 1, Evict ", "b: step 1, round 2, EvictLater BudgetExhausted", "c: step 1, round 0, Blocked BudgetExhausted"},
		},
		"a budget that never allows holds its pods, and those behind them": {
			snapshot: allowing(0),
			pods:     []*corev1.Pod{newPod("a", managed), newPod("z", managed, priority(9), func(p *corev1.Pod) { p.Labels = nil })},
			want:     []string{"a: step 1, round 0, Blocked BudgetImpossible", "z: step 2, round 0, Behind "},
		},
		"what is lost": {
			pods: []*corev1.Pod{newPod("bare"), newPod("cache", managed, localStorage), newPod("over", managed, localStorage, phase(corev1.PodSucceeded))},
			want: []string{"bare: step 1, round 1, Evict , nobody starts it again", "cache: step 1, round 1, Evict , loses tmp", "over: step 1, round 1, Evict "},
		},
		"one refused pod holds all": {
			request: Request{RefuseUnmanaged: true},
			pods:    []*corev1.Pod{newPod("bare"), newPod("a", managed)},
			want:    []string{"a: step 1, round 0, Behind ", "bare: step 1, round 0, Blocked UnmanagedPod"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, preview(t, tc.snapshot, tc.request, tc.pods...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodesOfOnePreviewShareBudgets(t *testing.T) {
	s := allowing(1)
	on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
	pods := []*corev1.Pod{newPod("a"), newPod("b", on("w2"))}
	s.Nodes = []NodeSnapshot{{Node: readyNode("w1"), Pods: pods}, {Node: readyNode("w2"), Pods: pods}}
	outlooks, err := Preview(s, noon)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := outlooks[0].Pods[0], outlooks[1].Pods[0]; a.Verdict != EvictNow || b.Verdict != Blocked || b.Reason != BudgetImpossible {
		t.Errorf("%s is %s and %s is %s %s: the budget allows one, and nobody starts pods again", a.Pod.Name, a.Verdict, b.Pod.Name, b.Verdict, b.Reason)
	}
}

func TestAPreviewOfWhatCannotBeAskedForIsRefused(t *testing.T) {
	for want, n := range map[string]NodeSnapshot{
		"NodeSnapshot.Node":  {},
		"GracePeriodSeconds": {Node: readyNode("w1"), Request: Request{GracePeriodSeconds: new(int64(0))}},
	} {
		if _, err := Preview(Snapshot{Nodes: []NodeSnapshot{n}}, noon); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one about %s", err, want)
		}
	}
}
