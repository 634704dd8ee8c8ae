// SPDX-License-Identifier: Apache-2.0

package central

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

func TestWhoIsLookedAtWhenSomethingChanges(t *testing.T) {
	held := eventOn("held", lifecyclev1alpha1.GateGuards)
	cached := apiOf(held, eventOn("busy"), eventOn("gated", "example.com/approval"))
	ctx := t.Context()
	for name, tc := range map[string]struct{ got, want []string }{
		"an event":                        {loop.BindingNode(ctx, eventOn("busy")), []string{"busy"}},
		"an event by which a node goes":   {guarded[*lifecyclev1alpha1.LifecycleEvent](cached)(ctx, eventOn("busy")), []string{"held"}},
		"a Node with events":              {nodeWithEvents(cached)(ctx, readyNode("gated")), []string{"gated"}},
		"a Node without":                  {nodeWithEvents(cached)(ctx, readyNode("idle")), nil},
		"what guards see of any Node":     {guarded[*corev1.Node](cached)(ctx, readyNode("idle")), []string{"held"}},
		"the agent of a node with events": {nodeOfPod(cached)(ctx, agentOn("busy")), []string{"busy"}},
		"the agent of a node without":     {nodeOfPod(cached)(ctx, agentOn("idle")), nil},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestGuardsAreWokenByWhatTheySee(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"a heartbeat":   {func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(began) }, false},
		"a label":       {func(n *corev1.Node) { n.Labels = map[string]string{"pool": "blue"} }, false},
		"its role":      {func(n *corev1.Node) { n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""} }, true},
		"not Ready":     {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, true},
		"unschedulable": {func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
		"our cordon": {func(n *corev1.Node) {
			n.Spec.Unschedulable = true
			n.Annotations = map[string]string{nodestate.CordonsAnnotation: `{"owners":[{"event":"e","uid":"1"}]}`}
		}, true},
	} {
		before, after := readyNode("n"), readyNode("n")
		tc.change(after)
		if got := asPeer().Update(event.TypedUpdateEvent[*corev1.Node]{ObjectOld: before, ObjectNew: after}); got != tc.want {
			t.Errorf("%s of a Node: %v; want %v", name, got, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		change func(*lifecyclev1alpha1.LifecycleEvent)
		want   bool
	}{
		"progress": {func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.Progress = &lifecyclev1alpha1.Progress{Done: 1} }, false},
		"a claim":  {func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.ClaimStatus = lifecyclev1alpha1.Claimed }, true},
		"a gate":   {func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.Gates = slices.Delete(e.Spec.Gates, 0, 1) }, true},
		"deletion": {func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: began} }, true},
	} {
		before, after := eventOn("n", "g"), eventOn("n", "g")
		tc.change(after)
		if got := asLeaving().Update(event.TypedUpdateEvent[*lifecyclev1alpha1.LifecycleEvent]{ObjectOld: before, ObjectNew: after}); got != tc.want {
			t.Errorf("%s of an event: %v; want %v", name, got, tc.want)
		}
	}
}
