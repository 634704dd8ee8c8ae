// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// The guards hold the drains of maintenances like those of anybody else, and a node of which
// that is so waits for another one to return. Without a rollout it never would: all of them
// return together. What spec.allow of a NodeMaintenance lists is said of the guards on the
// event of each node's drain. Who writes spec.allow was asked for the right to delete these
// nodes; an event that several maintenances share is theirs as well, so it has what any of
// them allows that wants the node out.

// allowed are the guards that are not to hold the drain of a node.
func (p *pass) allowed(n *node, entries []For) []lifecyclev1alpha1.Guard {
	var all []lifecyclev1alpha1.Guard
	for _, entry := range entries {
		m := p.byUID[entry.UID]
		if m == nil || entry.Released || !m.works() || !m.selects(n) || n.recordOf(m) != nil {
			continue
		}
		if m.lets(slipwayv1alpha1.GuardLastSchedulableNode) {
			all = append(all, lifecyclev1alpha1.GuardLastSchedulableNode)
		}
		// A rollout takes out one node of the control plane at a time, whatever is allowed.
		if m.lets(slipwayv1alpha1.GuardAllControlPlaneNodes) && m.Spec.Rollout == nil && n.controlPlane() {
			all = append(all, lifecyclev1alpha1.GuardSecondControlPlaneNode)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (m *maintained) lets(guard slipwayv1alpha1.MaintenanceGuard) bool {
	return slices.Contains(m.Spec.Allow, guard)
}

// allow adds guards that are not to hold an event. None is taken back: what has passed, has.
func allow(e *lifecyclev1alpha1.LifecycleEvent, guards []lifecyclev1alpha1.Guard) {
	for _, guard := range guards {
		if !slices.Contains(e.Spec.Allow, guard) {
			e.Spec.Allow = append(e.Spec.Allow, guard)
		}
	}
}

// notClaimed is why the drain of a node is not claimed. What lets it pass a guard is said as
// it is for a maintenance.
func (m *maintained) notClaimed(e *lifecyclev1alpha1.LifecycleEvent) reasoned {
	why := notClaimed(e)
	var lets string
	switch guard := lifecyclev1alpha1.Guard(why.reason); {
	case guard == lifecyclev1alpha1.GuardLastSchedulableNode:
		lets = fmt.Sprintf("spec.allow: [%s] lets it", slipwayv1alpha1.GuardLastSchedulableNode)
	case guard == lifecyclev1alpha1.GuardSecondControlPlaneNode && m.Spec.Rollout == nil:
		lets = fmt.Sprintf("spec.allow: [%s] lets it", slipwayv1alpha1.GuardAllControlPlaneNodes)
	case guard == lifecyclev1alpha1.GuardSecondControlPlaneNode:
		lets = fmt.Sprintf("it waits until that is over; spec.allow: [%s] of LifecycleEvent %s lets it at once", guard, e.Name)
	default:
		return why
	}
	why.message = reasons.Matter(lifecyclev1alpha1.ConditionGuardsPassed, why.reason, why.message) + "; " + lets
	return why
}
