// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// admit is what admission does with an event that is created.
func (w *world) admit(e *lifecyclev1alpha1.LifecycleEvent) {
	if w.guarded && e.Spec.TransitionName == lifecyclev1alpha1.DrainTransition {
		e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: lifecyclev1alpha1.GateGuards})
	}
}

// guard is what the controller decides about an event at the gate of the guards, and says what
// it did.
func (w *world) guard(e *lifecyclev1alpha1.LifecycleEvent) string {
	if !oversight.Guarded(e) || w.nodes[e.Spec.BindingNode] == nil {
		return ""
	}
	self := w.nodes[e.Spec.BindingNode]
	f := oversight.Facts{
		NodeName: e.Spec.BindingNode, Node: self.node, CordonedFor: self.cordonedFor, Central: true, Alone: true, Since: epoch,
		Events: []*lifecyclev1alpha1.LifecycleEvent{e}, Transitions: transitions(),
	}
	if user := w.held[f.NodeName]; user != "" {
		f.Holds = []*slipwayv1alpha1.NodeHold{{Spec: slipwayv1alpha1.NodeHoldSpec{NodeName: f.NodeName, EventUID: "theirs", User: user}}}
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if name != f.NodeName {
			f.Peers = append(f.Peers, oversight.PeerOf(w.nodes[name].node, len(w.nodes[name].cordonedFor) > 0))
		}
	}
	for _, other := range w.events {
		if other.Spec.BindingNode != f.NodeName {
			f.PeerEvents = append(f.PeerEvents, other)
		}
	}
	switch s := oversight.Next(f, w.now).Step.(type) {
	case oversight.WriteStatus:
		e.Status = s.Status
		for _, c := range e.Status.Conditions {
			if c.Type == lifecyclev1alpha1.ConditionGuardsPassed {
				return fmt.Sprintf("guards: %s: %s=%s %s", e.Name, c.Type, c.Status, c.Reason)
			}
		}
		return "guards: " + e.Name
	case oversight.RemoveGate:
		e.Spec.Gates = slices.DeleteFunc(e.Spec.Gates, func(g lifecyclev1alpha1.Gate) bool { return g.Name == lifecyclev1alpha1.GateGuards })
		e.Generation++
		return "guards: let " + e.Name + " pass"
	case oversight.ReleaseHold:
		delete(w.held, f.NodeName)
		return "guards: release the hold of " + s.Hold.Spec.User + " for " + e.Name
	default:
		return ""
	}
}

// transitions are those of the drain driver.
func transitions() map[string]*lifecyclev1alpha1.LifecycleTransition {
	back := &lifecyclev1alpha1.LifecycleTransition{}
	back.Name, back.UID = lifecyclev1alpha1.ReturnTransition, types.UID(lifecyclev1alpha1.ReturnTransition)
	back.Spec.End = lifecyclev1alpha1.StateMaintenanceComplete
	return map[string]*lifecyclev1alpha1.LifecycleTransition{back.Name: back}
}

// What helps an event is not what helps the maintenance that it is of.
func TestWhatLetsADrainPassItsGuard(t *testing.T) {
	const objection = `node "n" is the one`
	for name, tc := range map[string]struct {
		guard   lifecyclev1alpha1.Guard
		rollout bool
		want    string
	}{
		"the last node": {lifecyclev1alpha1.GuardLastSchedulableNode, false, objection + "; spec.allow: [LastSchedulableNode] lets it"},
		"the last node, of a rollout": {
			lifecyclev1alpha1.GuardLastSchedulableNode, true, objection + "; spec.allow: [LastSchedulableNode] lets it",
		},
		"another of the control plane": {
			lifecyclev1alpha1.GuardSecondControlPlaneNode, false, objection + "; spec.allow: [AllControlPlaneNodes] lets it",
		},
		"another of the control plane, of a rollout": {
			lifecyclev1alpha1.GuardSecondControlPlaneNode, true,
			objection + "; the drain waits for the other node; spec.allow: [SecondControlPlaneNode] of LifecycleEvent maintenance-n lets it at once",
		},
	} {
		const condition = lifecyclev1alpha1.ConditionGuardsPassed
		m := &maintenance{NodeMaintenance: &slipwayv1alpha1.NodeMaintenance{}}
		if tc.rollout {
			m.Spec.Rollout = &slipwayv1alpha1.MaintenanceRollout{}
		}
		e := newDrain("n", nil, slipwayv1alpha1.DrainParameters{})
		apimeta.SetStatusCondition(&e.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionFalse, Reason: string(tc.guard), Message: reasons.Advised(condition, string(tc.guard), objection),
		})
		if got := m.notClaimed(e); got != (cause{string(tc.guard), tc.want}) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
