// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
)

// begin has the maintenance take up the nodes whose turn it is. They join what the node is
// out for already; a node that is returning is waited for.
func (p *pass) begin(m *maintained) {
	for _, n := range p.turn(m) {
		if n.drain == nil && n.back == nil || p.joinable(n, m) {
			n.begin = append(n.begin, For{UID: m.UID, Name: m.Name, Retry: m.Spec.Retry})
		}
	}
}

// joinable says whether the drain of the node can be for one more maintenance. A word that
// its work is done was not said of this one, and is heard first. A rollout does not keep out
// what would return else: it may be more than it may have out.
func (p *pass) joinable(n *node, m *maintained) bool {
	if n.drain == nil || n.back != nil || ended(n.drain) || released(n.fors) {
		return false
	}
	if m.Spec.Rollout != nil && !p.needed(n) {
		return false
	}
	_, said := n.drain.Annotations[slipwayv1alpha1.WorkDoneAnnotation]
	return !said || !p.awaitsWord(n, m.UID)
}

// turn are the nodes whose turn it is.
func (p *pass) turn(m *maintained) []*node {
	if m.holdUp.reason != "" {
		return nil
	}
	if m.Spec.Rollout != nil {
		return p.rollout(m)
	}
	var waiting []*node
	for _, n := range m.selected {
		if n.stateFor(m) == rollout.Waiting {
			waiting = append(waiting, n)
		}
	}
	return waiting
}

func (p *pass) rollout(m *maintained) []*node {
	m.rollout = rollout.Next(p.rolloutFacts(m))
	p.decision.Budgets = p.decision.Budgets || m.rollout.Budgets
	var turn []*node
	for _, name := range m.rollout.Begin {
		turn = append(turn, p.byName[name])
	}
	return turn
}

// rolloutFacts are what is known of the nodes of a maintenance, for who decides which of them
// begin.
func (p *pass) rolloutFacts(m *maintained) rollout.Facts {
	var facts rollout.Facts
	if m.Spec.Rollout != nil {
		facts.Rollout = *m.Spec.Rollout
		facts.PendingPods, facts.PendingNames = p.notReadySince(m)
	}
	for _, n := range p.nodes {
		if n.exists() && n.controlPlane() && (n.busy() || !n.ready() || len(n.CordonedFor) > 0) {
			facts.ControlPlaneOut = append(facts.ControlPlaneOut, n.name)
		}
	}
	for _, n := range p.nodes {
		if !n.exists() {
			continue
		}
		state := n.stateFor(m)
		if !m.selects(n) { // one that is not selected any more counts until it has returned
			if !n.stillOut(m) {
				continue
			}
			state = rollout.Out
		}
		if state == rollout.Waiting && p.letsOthersBegin(n, m) {
			state = rollout.HeldBack
		}
		facts.Nodes = append(facts.Nodes, rollout.Node{
			Name: n.name, State: state, Domain: n.Labels[facts.Rollout.TopologyKey], ControlPlane: n.controlPlane(),
			Down: !n.ready() || n.outForOthers(m), Budgets: n.Budgets,
		})
	}
	return facts
}

// stillOut says whether the node is out for a maintenance, or cordoned for a drain of its
// that is no more.
func (n *node) stillOut(m *maintained) bool {
	r := rawRecord(n.Records, m.UID)
	return entryOf(n.fors, m.UID) != nil || r != nil && n.cordonedFor(*r)
}

// outForOthers says whether the node is out, and not for this maintenance.
func (n *node) outForOthers(m *maintained) bool {
	return entryOf(n.fors, m.UID) == nil && (n.busy() || len(n.CordonedFor) > 0)
}

// stateFor is where the node is on its way through a maintenance, as far as it matters for
// others.
func (n *node) stateFor(m *maintained) rollout.State {
	r, out := n.recordOf(m), entryOf(n.fors, m.UID) != nil
	switch {
	case r != nil && r.State == RecordFailed && (out || n.cordonedFor(*r)):
		return rollout.Failed
	case r != nil && r.State == RecordFailed:
		return rollout.FailedBack
	case r != nil && r.State == RecordReturned:
		return rollout.Returned
	case r != nil || out:
		return rollout.Out
	case n.isHeldBack(m):
		return rollout.HeldBack
	default:
		return rollout.Waiting
	}
}

// began is when a stage did; zero, if it has not.
func (m *maintained) began(stage slipwayv1alpha1.MaintenanceStage) time.Time {
	i := slices.IndexFunc(m.Status.StageStatuses, func(s slipwayv1alpha1.MaintenanceStageStatus) bool { return s.Name == stage })
	if i < 0 {
		return time.Time{}
	}
	return m.Status.StageStatuses[i].StartTimestamp.Time
}
