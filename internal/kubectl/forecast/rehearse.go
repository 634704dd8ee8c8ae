// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
	"github.com/slipway-k8s/slipway/internal/node/availability"
)

// rehearsal is a rollout in which all nodes that have started return together.
type rehearsal struct {
	look  maintenance.Outlook
	facts rollout.Facts
	// together: there is no rollout.
	together bool
	// budgets limit the nodes out of service, which are nodes at first.
	budgets []*availability.Budget
	nodes   []availability.Node
	rounds  []round
	// condition must be true before the next round.
	condition string
	// held is the reason that nodes still wait at the end.
	held *Held
}

// round are the nodes that start at one moment.
type round struct {
	condition string
	names     []string
}

// rehearse plays a maintenance from its current state while nodes wait and can start.
func rehearse(look maintenance.Outlook, together bool, facts maintenance.Facts) *rehearsal {
	r := &rehearsal{look: look, facts: look.Rollout, together: together, budgets: facts.Availability}
	for _, n := range facts.Nodes {
		r.nodes = append(r.nodes, availability.NodeOf(n.Node, nil))
	}
	r.facts.Nodes = slices.Clone(look.Rollout.Nodes)
	r.facts.ControlPlaneOut = slices.Clone(look.Rollout.ControlPlaneOut)
	if look.Reason != "" {
		r.hold(look.Reason, look.Message)
		return r
	}
	for {
		d := r.decide()
		switch {
		case len(d.Begin) > 0:
			r.begin(d.Begin)
			r.allReturn()
		case d.Reason == "": // no node waits
			return r
		case r.allReturn(), r.lift(d.Reason):
		default:
			r.hold(d.Reason, d.Message)
			return r
		}
	}
}

func (r *rehearsal) decide() rollout.Decision {
	if !r.together {
		return r.withinBudgets(rollout.Next(r.facts))
	}
	var d rollout.Decision
	for _, n := range r.facts.Nodes {
		if n.State == rollout.Waiting {
			d.Begin = append(d.Begin, n.Name)
		}
	}
	return d
}

// withinBudgets leaves out the nodes that wait for a NodeAvailabilityBudget.
func (r *rehearsal) withinBudgets(d rollout.Decision) rollout.Decision {
	if len(r.budgets) == 0 {
		return d
	}
	nodes := slices.Clone(r.nodes)
	take := func(name, out string) {
		if i := slices.IndexFunc(nodes, func(n availability.Node) bool { return n.Name == name }); i >= 0 {
			nodes[i].Out = out
		}
	}
	for _, n := range r.facts.Nodes {
		switch n.State {
		case rollout.Out:
			take(n.Name, "out for this maintenance")
		case rollout.Returned:
			take(n.Name, "")
		case rollout.Waiting, rollout.Failed, rollout.FailedBack, rollout.HeldBack: // unchanged
		}
	}
	wanted, objection := d.Begin, ""
	d.Begin = nil
	for _, name := range wanted {
		if why := availability.Objection(r.budgets, nodes, name); why != "" {
			objection = why
			continue
		}
		d.Begin = append(d.Begin, name)
		take(name, "out for this maintenance")
	}
	if objection != "" && len(d.Begin) == 0 {
		d.Reason, d.Message = lifecyclev1alpha1.ReasonNodeAvailabilityBudget, objection
	}
	return d
}

func (r *rehearsal) begin(names []string) {
	r.rounds = append(r.rounds, round{condition: r.condition, names: names})
	r.condition = ""
	for i, n := range r.facts.Nodes {
		if slices.Contains(names, n.Name) {
			r.facts.Nodes[i].State = rollout.Out
		}
	}
}

// allReturn returns all drained nodes of the maintenance to service, healthy. It reports whether
// there were any. Nodes that the maintenance no longer selects leave the rollout.
func (r *rehearsal) allReturn() (some bool) {
	var nodes []rollout.Node
	unleased := slices.ContainsFunc(r.facts.Nodes, func(n rollout.Node) bool { return n.State == rollout.Waiting && !r.leased(n) })
	for _, n := range r.facts.Nodes {
		if n.State == rollout.HeldBack && (!unleased || !r.leased(n)) {
			n.State = rollout.Waiting // the drains that it gave way to have ended, or no other node is left
		}
		if n.State != rollout.Out {
			nodes = append(nodes, n)
			continue
		}
		some = true
		r.facts.ControlPlaneOut = slices.DeleteFunc(r.facts.ControlPlaneOut, func(name string) bool { return name == n.Name })
		if !r.look.Nodes[n.Name].Selected {
			continue
		}
		n.State, n.Down = rollout.Returned, false
		nodes = append(nodes, n)
	}
	r.facts.Nodes = nodes
	return some
}

// leased reports whether another holder has the lease of the node.
func (r *rehearsal) leased(n rollout.Node) bool { return r.look.Nodes[n.Name].Leased != "" }

// lift assumes that the rollout is resumed, or that its pods have started, and makes that a
// condition of the next round.
func (r *rehearsal) lift(reason string) bool {
	switch reason {
	case slipwayv1alpha1.ReasonPauseAfter:
		r.condition = fmt.Sprintf("'kubectl slipway maintenance resume': the rollout pauses when %d nodes have returned (pauseAfter)", *r.facts.Rollout.PauseAfter)
		r.facts.Rollout.PauseAfter = nil
	case slipwayv1alpha1.ReasonPendingPods:
		r.condition = "fewer pods are Pending or not Ready that were created since it began (maxPendingPods)"
		r.facts.PendingPods = 0
	default:
		return false
	}
	return true
}

func (r *rehearsal) hold(reason, message string) {
	if slices.ContainsFunc(r.facts.Nodes, func(n rollout.Node) bool { return n.State == rollout.Waiting }) {
		r.held = &Held{Reason: reason, Message: message}
	}
}

// leftOf are the nodes that are in no round.
func leftOf(r *rehearsal) []Left {
	began := map[string]bool{}
	for _, each := range r.rounds {
		for _, name := range each.names {
			began[name] = true
		}
	}
	var left []Left
	for _, n := range r.look.Rollout.Nodes {
		s := r.look.Nodes[n.Name]
		if began[n.Name] || !s.Selected {
			continue
		}
		left = append(left, Left{
			Name: n.Name, Domain: n.Domain, ControlPlane: n.ControlPlane, State: states[n.State], Reason: s.Reason, Message: s.Message,
		})
	}
	return left
}

var states = map[rollout.State]LeftState{
	rollout.Waiting: LeftWaiting, rollout.Out: LeftOut, rollout.Returned: LeftReturned,
	rollout.Failed: LeftFailed, rollout.FailedBack: LeftFailed, rollout.HeldBack: LeftWaiting,
}
