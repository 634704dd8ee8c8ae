// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// KEP-5683 spells the states of the drain driver in another way than its README.
func TestTheStatesOfADrainAreKnownInBothSpellings(t *testing.T) {
	for _, spelled := range []struct{ started, drained, uncordoning, returned string }{
		{"drain-started", "drain-complete", "uncordoning", "maintenance-complete"},
		{"DrainStarted", "DrainComplete", "Uncordoning", "MaintenanceComplete"},
	} {
		if a, b := Doing(spelled.started), Doing(spelled.uncordoning); a != "is being drained" || b != "is being returned to service" {
			t.Errorf("%v: a node %q, or %q", spelled, a, b)
		}
		for end, want := range map[string]State{spelled.drained: Draining, spelled.returned: Returning} {
			event := &lifecyclev1alpha1.LifecycleEvent{}
			event.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent}
			event.Status.ClaimStatus, event.Status.Driver = lifecyclev1alpha1.Claimed, &lifecyclev1alpha1.ClaimedDriver{End: end}
			if got := OfEvent(event); got != want {
				t.Errorf("an event that ends in %s is %s, want %s", end, got, want)
			}
		}
		node := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: lifecyclev1alpha1.NodeConditionLifecycleTransition, Status: corev1.ConditionTrue, Reason: spelled.drained}}
		if got := OfNode(node); got != Drained {
			t.Errorf("a node in %s is %s", spelled.drained, got)
		}
	}
}
