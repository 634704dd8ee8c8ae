// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// A node whose drain nobody has claimed yet is not cordoned: its event waits for a hook, a
// lease, a guard, its agent. It waits again, as if its turn had not come, if its maintenance
// may not begin nodes any more: else it would be taken out whenever that lets it pass. So it
// does if it waits for a lease while others could begin. The event goes when no other
// maintenance wants it. If it was claimed before, it has begun, and goes on.

// waitsAgain says whether a node that is about to begin does not, for a maintenance. While
// that one is paused, an event that nobody claims because of its own hooks stays as it is, with
// what was answered to them.
func (p *pass) waitsAgain(n *node, m *maintained) bool {
	switch {
	case n.drain == nil || n.back != nil || !pending(n.drain):
		return false
	case p.outsideWindow(m).reason != "", !gated(n.drain) && p.letsOthersBegin(n, m):
		return true
	default:
		forOthers := len(n.fors) > 1 && !m.asksAt(slipwayv1alpha1.BeforeDrain)
		return m.Spec.Paused && (!gated(n.drain) || forOthers)
	}
}

// wayBack is how it is called that a node goes back: one that nobody has touched waits.
func (n *node) wayBack() slipwayv1alpha1.MaintenanceNodePhase {
	if n.drain != nil && n.back == nil && pending(n.drain) {
		return slipwayv1alpha1.NodeWaiting
	}
	return slipwayv1alpha1.NodeReturning
}

// nothingLeaves are the parameters of a drain that nobody wants any more, and that somebody
// may claim until it is deleted.
func nothingLeaves(parameters slipwayv1alpha1.DrainParameters) slipwayv1alpha1.DrainParameters {
	parameters.Targets = drainplan.Nothing()
	return parameters
}
