// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/node/availability"
)

// Fleet has the facts that NodeAvailabilityBudgets are about. It is empty without budgets.
type Fleet struct {
	Budgets []*availability.Budget
	// Nodes are all nodes, without the effect of events.
	Nodes []availability.Node
}

// exhausted returns the cause for which a budget holds an event back. Shutdowns and returns do not wait for budgets.
//
// The note that the guards let an event pass reserves its slot, because it counts for all other events (see takesOut). The
// gate is removed after the note, on facts that were read after it. So of two leaders that each let an event pass, at
// least one sees the note of the other: they cannot use the last slot twice.
func exhausted(f Facts, e *lifecyclev1alpha1.LifecycleEvent) string {
	if len(f.Fleet.Budgets) == 0 || !holds(f, e) {
		return ""
	}
	nodes := WithEvents(f.Fleet.Nodes, TakingOut(f, e))
	// This node in its newest version: an old version may show a cordon of a node that has returned.
	for i := range nodes {
		if nodes[i].Name == f.NodeName {
			nodes[i] = WithEvents([]availability.Node{availability.NodeOf(f.Node, f.Holds)}, TakingOut(f, e))[0]
		}
	}
	return availability.Objection(f.Fleet.Budgets, nodes, f.NodeName)
}

// TakingOut returns the events that take their nodes out of service, by node. It leaves one event out, which may be nil.
func TakingOut(f Facts, without *lifecyclev1alpha1.LifecycleEvent) map[string]*lifecyclev1alpha1.LifecycleEvent {
	taking := map[string]*lifecyclev1alpha1.LifecycleEvent{}
	for _, e := range slices.Concat(f.OfNode, f.PeerEvents) {
		if (without == nil || e.UID != without.UID) && takesOut(f, e) {
			taking[e.Spec.BindingNode] = e
		}
	}
	return taking
}

// WithEvents returns the nodes with the effect of the events that take them out of service.
func WithEvents(nodes []availability.Node, taking map[string]*lifecyclev1alpha1.LifecycleEvent) []availability.Node {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		e := taking[nodes[i].Name]
		switch {
		case e == nil || nodes[i].Out != "":
		case lifecycleevent.HasForeignClaim(e):
			nodes[i].Out = fmt.Sprintf("LifecycleEvent %q of %s", e.Name, lifecycleevent.ClaimerName(e))
		default:
			nodes[i].Out = fmt.Sprintf("LifecycleEvent %q", e.Name)
		}
	}
	return nodes
}

// LetPass returns whether the guards have noted that an event may pass. Its gate is about to be removed.
func LetPass(e *lifecyclev1alpha1.LifecycleEvent) bool {
	c := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionGuardsPassed)
	return Guarded(e) && c != nil && c.Status == metav1.ConditionTrue
}
