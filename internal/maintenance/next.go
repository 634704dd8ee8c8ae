// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
)

// Next decides for all maintenances and nodes.
//
// It decides for each node separately, with three exceptions: which nodes begin (package rollout), the
// targets of their drains (package drainplan), and drains that wait for each other (package deadlock).
func Next(f Facts, now time.Time) Decision {
	v := newView(f, now)
	s := selectNodes(v)
	p := planDrains(s)

	d := Decision{Statuses: map[types.UID]slipwayv1alpha1.NodeMaintenanceStatus{}}
	d.WatchKeptAway, d.Starving = len(f.KeptAway) > 0, p.deadlocks.asks
	s.asks(&d)
	outcomes := map[string]outcome{}
	for _, n := range p.nodes {
		o, watch := p.nextOf(n)
		outcomes[n.name] = o
		d.Steps = append(d.Steps, o.steps...)
		d.WatchKeptAway = d.WatchKeptAway || watch
		if o.check {
			d.Check = append(d.Check, n.name)
		}
	}
	d.Steps = slices.Concat(d.Steps, p.lift(), p.tidyJobs())
	var announced []Step
	for _, m := range p.maintenances {
		d.Steps = append(d.Steps, p.keepFinalizer(m)...)
		status := p.status(p.reportOn(m, outcomes))
		if !equality.Semantic.DeepEqual(status, m.Status) {
			d.Statuses[m.UID] = status
			announced = append(announced, m.announce(status)...)
		}
	}
	d.Steps = append(announced, d.Steps...)
	d.Wake = v.alarm.next
	return d
}

// Outlook is the state of the nodes of a maintenance before the next step, for forecasts.
type Outlook struct {
	// Reason and Message explain why none of its nodes begins. Empty: they may.
	Reason, Message string
	// Rollout are the facts of package rollout. Without spec.rollout, all waiting nodes begin together.
	Rollout rollout.Facts
	// Nodes are further facts on the nodes in Rollout, by name.
	Nodes map[string]NodeOutlook
}

// NodeOutlook is the state of one node.
type NodeOutlook struct {
	// Selected: the maintenance selects the node. The remaining nodes return.
	Selected bool
	// Ready: the node is Ready.
	Ready bool
	// Others are the names of the other maintenances that use its drain.
	Others []string
	// Ahead: for these, its drain exceeds the first step of this maintenance (KEP-4212, fast-forward).
	Ahead bool
	// Leased describes the lease of another tool, or the users that hold the node. Empty: there are none. The
	// node does not begin while other nodes can.
	Leased string
	// Reason and Message explain a failure.
	Reason, Message string
}

// Look returns the facts from which Next would decide about one of the maintenances, once the older ones
// have begun with their nodes.
func Look(f Facts, uid types.UID, now time.Time) (Outlook, error) {
	s := judged(newView(f, now))
	m := s.byUID[uid]
	if m == nil {
		return Outlook{}, fmt.Errorf("the facts have no NodeMaintenance with UID %q", uid)
	}
	for _, older := range s.maintenances[:slices.Index(s.maintenances, m)] {
		s.begin(older)
	}
	holdUp := s.of[uid].holdUp
	o := Outlook{Reason: holdUp.reason, Message: holdUp.message, Rollout: s.rolloutFacts(m), Nodes: map[string]NodeOutlook{}}
	for _, inRollout := range o.Rollout.Nodes {
		n := s.byName[inRollout.Name]
		of := NodeOutlook{Selected: m.selects(n), Ready: n.ready()}
		for _, ref := range s.outFor(n) {
			if ref.UID != uid {
				of.Others = append(of.Others, ref.Name)
			}
		}
		slices.Sort(of.Others)
		of.Ahead = len(of.Others) > 0 && n.drain != nil && drainplan.Exceeds(targetsOf(n.drain), m.plan)
		of.Leased = s.heldByOthers(n).message
		if r := n.recordOf(m); r != nil && r.State == RecordFailed {
			of.Reason, of.Message = r.Reason, r.Message
		}
		o.Nodes[n.name] = of
	}
	return o, nil
}

// Asked returns the parameters of a drain in the last step of the plan of a maintenance, for a node that no
// other maintenance uses.
func Asked(m *slipwayv1alpha1.NodeMaintenance) slipwayv1alpha1.DrainParameters {
	return drainParameters(planOf(m), demandOf(m))
}
