// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Whatever the status says, a report says all of it, and nothing that a shell would take
// for more than a name.
func TestEveryBlockerOfEveryEventIsInTheReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := someFacts(t)
		r := Explain(f, noon.Add(time.Hour))
		for _, e := range f.Events {
			if e.Status.ClaimStatus.Terminal() {
				continue
			}
			for _, b := range e.Status.Blockers {
				if !slices.ContainsFunc(r.Causes, func(c Cause) bool {
					return c.Event == e.Name && c.Code == b.Reason && slices.Contains(c.Objects, b.Object)
				}) {
					t.Fatalf("blocker %+v of %s is not in %+v", b, e.Name, r.Causes)
				}
			}
		}
		if r.Headline == "" || r.State == "" {
			t.Fatalf("the report has no headline: %+v", r)
		}
		for _, c := range r.Causes {
			for _, remedy := range append(slices.Clone(c.Remedies), r.Next...) {
				if strings.ContainsAny(remedy.Command, "$`\n;") {
					t.Fatalf("%s proposes %q", c.Code, remedy.Command)
				}
			}
		}
	})
}

// hostile are names that whoever writes a status may put there.
var hostile = []string{"", "cart-0", "a/b", "shop/cart-0", "x;reboot", "$(reboot)", "`reboot`", "a\nb", "/", " ", "shop/", "\x1b[2J"}

func someFacts(t *rapid.T) Facts {
	f := Facts{NodeName: rapid.SampledFrom(hostile).Draw(t, "node")}
	for i := range rapid.IntRange(0, 3).Draw(t, "events") {
		f.Events = append(f.Events, someEvent(t, fmt.Sprintf("event-%d", i)))
	}
	if rapid.Bool().Draw(t, "has node") {
		f.Node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:        f.NodeName,
			Annotations: map[string]string{cordons.Annotation: rapid.SampledFrom([]string{"", "{", `{"owners":[{"event":"x"}]}`}).Draw(t, "cordons")},
		}}
		f.Node.Spec.Unschedulable = rapid.Bool().Draw(t, "unschedulable")
	}
	for range rapid.IntRange(0, 2).Draw(t, "pods") {
		f.Pods = append(f.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: rapid.SampledFrom(hostile).Draw(t, "ns"), Name: rapid.SampledFrom(hostile).Draw(t, "pod"),
			Finalizers: []string{rapid.SampledFrom(hostile).Draw(t, "finalizer")},
		}})
	}
	for range rapid.IntRange(0, 2).Draw(t, "budgets") {
		b := Budget{Pods: f.Pods}
		b.Namespace, b.Name = rapid.SampledFrom(hostile).Draw(t, "ns"), rapid.SampledFrom(hostile).Draw(t, "budget")
		f.Budgets = append(f.Budgets, b)
	}
	for _, kind := range []Kind{TheNode, Pods, Budgets, BudgetPods, AgentPods, ControllerPods} {
		if rapid.Bool().Draw(t, "unread "+string(kind)) {
			f.Unread = append(f.Unread, Unread{kind, "forbidden"})
		}
	}
	return f
}

func someEvent(t *rapid.T, name string) lifecyclev1alpha1.LifecycleEvent {
	entries := reasons.Entries()
	e := lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Time{Time: noon}}}
	e.Spec.TransitionName = rapid.SampledFrom(hostile).Draw(t, "transition")
	e.Status.ClaimStatus = rapid.SampledFrom([]lifecyclev1alpha1.ClaimStatus{
		"", lifecyclev1alpha1.Pending, lifecyclev1alpha1.Claimed, lifecyclev1alpha1.Failed,
	}).Draw(t, "phase")
	for range rapid.IntRange(0, 2).Draw(t, "gates") {
		e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: rapid.SampledFrom(hostile).Draw(t, "gate")})
	}
	for range rapid.IntRange(0, 4).Draw(t, "blockers") {
		e.Status.Blockers = append(e.Status.Blockers, lifecyclev1alpha1.Blocker{
			Object: rapid.SampledFrom([]string{"", "Pod ", "Node "}).Draw(t, "kind") + rapid.SampledFrom(hostile).Draw(t, "object"),
			Reason: rapid.SampledFrom(append(codes(entries), "", "SomebodyElses")).Draw(t, "code"),
			By:     rapid.SampledFrom([]string{"", "PodDisruptionBudget ", "Volume "}).Draw(t, "by kind") + rapid.SampledFrom(hostile).Draw(t, "by"),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "conditions") {
		entry := rapid.SampledFrom(entries).Draw(t, "condition")
		e.Status.Conditions = append(e.Status.Conditions, metav1.Condition{
			Type: string(entry.Place), Status: metav1.ConditionStatus(entry.Status), Reason: entry.Code, Message: rapid.SampledFrom(hostile).Draw(t, "message"),
		})
	}
	return e
}

func codes(entries []reasons.Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Code)
	}
	return all
}

// Every code that says trouble is told of, with something that helps.
func TestEveryCodeHasACauseWithARemedy(t *testing.T) {
	for _, entry := range reasons.Entries() {
		inTheWay := entry.Helps != "" || entry.Place == reasons.Blocker
		if !inTheWay || entry.Place == reasons.NodeState || entry.Place == reasons.Explained {
			continue
		}
		t.Run(string(entry.Place)+" "+entry.Code, func(t *testing.T) {
			r := Explain(Facts{NodeName: "worker-1", Namespace: "slipway-system", Events: []lifecyclev1alpha1.LifecycleEvent{with(entry)}}, noon)
			for _, c := range r.Causes {
				if c.Code == entry.Code && c.Place == entry.Place {
					if len(c.Remedies) == 0 || c.Text == "" || c.Reference != reasons.Page+reasons.Anchor(entry.Code) {
						t.Errorf("incomplete: %+v", c)
					}
					return
				}
			}
			t.Errorf("no cause tells of it: %+v", r.Causes)
		})
	}
}

func with(entry reasons.Entry) lifecyclev1alpha1.LifecycleEvent {
	e := lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "drain-worker-1"}}
	e.Spec.TransitionName = "drain.slm.k8s.io"
	switch entry.Place {
	case reasons.Blocker:
		e.Status.ClaimStatus = lifecyclev1alpha1.Claimed
		e.Status.Blockers = []lifecyclev1alpha1.Blocker{{Object: "Pod shop/cart-0", Reason: entry.Code, By: "Thing shop/cart"}}
		return e
	case lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ConditionGuardsPassed:
		e.Status.ClaimStatus = lifecyclev1alpha1.Pending
	case lifecyclev1alpha1.ConditionFinished:
		e.Status.ClaimStatus = lifecyclev1alpha1.Failed
	default:
		e.Status.ClaimStatus = lifecyclev1alpha1.Claimed
	}
	e.Status.Conditions = []metav1.Condition{{Type: string(entry.Place), Status: metav1.ConditionStatus(entry.Status), Reason: entry.Code}}
	return e
}
