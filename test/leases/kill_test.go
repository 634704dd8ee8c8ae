// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/nodelease"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestALeaseOutlivesItsController kills the leader after it has taken the lease, let the drain
// pass, and given the lease back. Another one goes on, as the same holder.
func TestALeaseOutlivesItsController(t *testing.T) {
	t.Parallel()
	g := withLeases(t)
	for _, point := range []string{faultpoint.LeaseTaken, faultpoint.LeaseGateRemoved, faultpoint.LeaseReleased} {
		t.Run(point, func(t *testing.T) {
			node := g.Node(t, "kill")
			node.Agent("")
			leader := g.control(t, "leader", point)
			leader.AwaitLeading()
			successor := g.control(t, "successor", "")
			successor.AwaitStandby()
			event := node.Event(node.EventName("drain"), harness.Drain)
			if point == faultpoint.LeaseReleased {
				g.AwaitEventGone(t, event.Name)
				event = node.Event(node.EventName("return"), harness.Return)
			}
			leader.AwaitFaultPoint(point)
			leader.Kill()
			g.AwaitEventGone(t, event.Name)
			if point != faultpoint.LeaseReleased {
				awaitHolder(node, nodelease.Slipway)
				g.AwaitEventGone(t, node.Event(node.EventName("return"), harness.Return).Name)
			}
			awaitHolder(node, "")
			g.heldAllTheWhile(t, node)
			successor.Stop() // it gives up to lead: the next two need not wait for it
		})
	}
}

// heldAllTheWhile says by the audit log whether Slipway took the node's lease before it
// cordoned it, and gave it back after it had returned it: of both, the last time.
func (g *ground) heldAllTheWhile(t *testing.T, node *harness.Node) {
	t.Helper()
	var cordon, returned, taken, given time.Time
	controller := "system:serviceaccount:slipway-system:slipway-controller"
	for _, r := range g.Changes(t) {
		switch {
		case nameIn(r) != node.Name:
		case r.Resource == "nodes" && cordons(r, true):
			cordon = r.Ended
		case r.Resource == "nodes" && cordons(r, false):
			returned = r.Ended
		case r.Resource != "leases" || r.Namespace != nodelease.Namespace || r.User != controller:
		case holderIn(r) == nodelease.Slipway:
			taken = r.Ended
		default:
			given = r.Ended
		}
	}
	for i, at := range []time.Time{taken, cordon, returned, given} {
		if at.IsZero() {
			t.Fatalf("%d of taken, cordoned, returned, given has not happened", i)
		}
	}
	if !taken.Before(cordon) || !returned.Before(given) {
		t.Errorf("taken at %s, cordoned at %s, returned at %s, given back at %s", taken, cordon, returned, given)
	}
}
