// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
	"github.com/slipway-k8s/slipway/internal/node/availability"
)

// selection decides which nodes begin for each maintenance, and holds the claims of maintenances on their nodes.
type selection struct {
	*view
	of map[types.UID]*turn // by maintenance
	// claims of maintenances on the nodes that they have out of service, by node.
	claims map[string][]claim
	// begins are the maintenances that begin with a node now, by node.
	begins map[string][]Ref
}

// turn is the result of the selection for one maintenance.
type turn struct {
	// refusal is the cause for which the controller does not carry out the maintenance at all.
	refusal cause
	// holdUp is the cause for which none of its nodes begins.
	holdUp cause
	// freeWaits: a node waits that no other tool has leased.
	freeWaits bool
	// rollout is the decision of package rollout.
	rollout rollout.Decision
}

// selectNodes judges all maintenances, and then lets their nodes begin, the oldest first.
func selectNodes(v *view) *selection {
	s := judged(v)
	for _, m := range s.maintenances {
		s.begin(m)
	}
	return s
}

// judged returns the selection before any node begins.
func judged(v *view) *selection {
	s := &selection{view: v, of: map[types.UID]*turn{}, claims: map[string][]claim{}, begins: map[string][]Ref{}}
	for _, m := range v.maintenances {
		t := &turn{refusal: s.refused(m)}
		t.holdUp = v.heldUp(m, t.refusal)
		t.freeWaits = slices.ContainsFunc(m.selected, func(n *node) bool {
			return v.heldByOthers(n).reason == "" && n.stateFor(m) == rollout.Waiting
		})
		s.of[m.UID] = t
	}
	for _, n := range v.nodes {
		for _, ref := range n.refs {
			s.claims[n.name] = append(s.claims[n.name], s.claimOf(n, ref))
		}
	}
	return s
}

// refused returns the cause for which the controller does not carry out a maintenance, in any stage. A node that is out
// of service already continues.
func (s *selection) refused(m *maintenance) cause {
	if m.invalid != nil {
		return cause{slipwayv1alpha1.ReasonInvalidSelector, fmt.Sprintf("spec.nodeSelector: %v", m.invalid)}
	}
	begun := func(n *node) bool { return refOf(n.refs, m.UID) != nil }
	waits := !m.returns() && !slices.ContainsFunc(m.selected, begun)
	all, selected, others := 0, 0, 0 // nodes of the control plane
	for _, n := range s.nodes {
		switch {
		case !n.exists() || !n.controlPlane():
			continue
		case slices.Contains(m.selected, n):
			selected++
		case waits && s.goesForOthers(n, m):
			others++
		}
		all++
	}
	if waits {
		if why := s.exceeds(m); why != "" {
			return cause{lifecyclev1alpha1.ReasonNodeAvailabilityBudget, why + " without spec.rollout"}
		}
	}
	// This includes a cluster with a single node of the control plane: no control plane would be left.
	if m.Spec.Rollout != nil || selected == 0 || selected+others < all || m.allows(slipwayv1alpha1.GuardAllControlPlaneNodes) {
		return cause{}
	}
	selects := fmt.Sprintf("spec.nodeSelector selects all nodes of the control plane (%d)", all)
	if others > 0 {
		selects = fmt.Sprintf("spec.nodeSelector selects %d of the %d nodes of the control plane, and other maintenances drain the rest", selected, all)
	}
	return cause{slipwayv1alpha1.ReasonAllControlPlaneNodes, fmt.Sprintf("%s, which would be out of service "+
		"at the same time without spec.rollout; spec.allow: [%s] lets it", selects, slipwayv1alpha1.GuardAllControlPlaneNodes)}
}

// exceeds returns the NodeAvailabilityBudget that can never let all nodes of a maintenance without a rollout be out of
// service: they would wait for each other forever.
func (s *selection) exceeds(m *maintenance) string {
	if m.Spec.Rollout != nil || m.returns() || len(s.facts.Availability) == 0 {
		return ""
	}
	var all []availability.Node
	for _, n := range s.nodes {
		if n.exists() {
			all = append(all, availability.NodeOf(n.Node.Node, nil))
		}
	}
	var together []string
	for _, n := range m.selected {
		together = append(together, n.name)
	}
	return availability.Excess(s.facts.Availability, all, together)
}

// goesForOthers reports whether another maintenance has the node out of service, or whether an older one without a
// rollout begins with it now.
func (s *selection) goesForOthers(n *node, m *maintenance) bool {
	if slices.ContainsFunc(n.refs, func(ref Ref) bool { return ref.UID != m.UID }) {
		return true
	}
	for _, other := range s.maintenances {
		if other == m {
			break
		}
		if other.Spec.Rollout == nil && s.of[other.UID].holdUp.reason == "" && slices.Contains(other.selected, n) {
			return true
		}
	}
	return false
}

// heldUp returns the cause for which none of the waiting nodes begins. If the window causes it, the next decision is due
// when the window changes.
func (v *view) heldUp(m *maintenance, refusal cause) cause {
	switch {
	case m.returns():
		return cause{slipwayv1alpha1.ReasonCompleted, "all nodes return"}
	case !m.works():
		return cause{slipwayv1alpha1.ReasonIdle, "the stage is Idle"}
	case !m.finalized():
		if why, refused := v.facts.Refused[Key(ChangeMaintenance{Seen: m.NodeMaintenance})]; refused {
			return cause{slipwayv1alpha1.ReasonStepRefused, why}
		}
		return cause{slipwayv1alpha1.ReasonRunning, "the controller is adding its finalizer"}
	case refusal.reason != "":
		return refusal
	case m.Spec.Rollout != nil && !m.drains():
		return cause{slipwayv1alpha1.ReasonIdle, "spec.rollout begins with stage Drain"}
	case m.Spec.Paused:
		return isPaused
	}
	if closed := v.outsideWindow(m); closed.reason != "" {
		return closed
	}
	if template := m.template(); template != "" && v.facts.Templates[template] == nil {
		return v.noTemplate(template)
	}
	return cause{}
}

var isPaused = cause{slipwayv1alpha1.ReasonPaused, "spec.paused is true"}

func (v *view) noTemplate(name string) cause {
	if v.facts.JobNamespace == "" {
		return cause{slipwayv1alpha1.ReasonJobInvalid, "spec.work.type: Slipway was installed without the permission to create Jobs: install it with --maintenance-jobs"}
	}
	return cause{slipwayv1alpha1.ReasonJobInvalid, fmt.Sprintf("spec.work.podTemplate: namespace %q has no PodTemplate %q", v.facts.JobNamespace, name)}
}

// outsideWindow returns the cause for which nodes do not begin, if the window is closed.
func (v *view) outsideWindow(m *maintenance) cause {
	if at := m.notBefore(); !v.alarm.passed(at) {
		return cause{slipwayv1alpha1.ReasonBeforeWindow, "spec.window.notBefore is " + stamp(at)}
	}
	if at := m.deadline(); !at.IsZero() && v.alarm.passed(at) {
		return cause{slipwayv1alpha1.ReasonWindowOver, "spec.window.deadline was " + stamp(at)}
	}
	return cause{}
}

// notBefore returns the start of the window, or zero.
func (m *maintenance) notBefore() time.Time {
	if w := m.Spec.Window; w != nil && w.NotBefore != nil {
		return w.NotBefore.Time
	}
	return time.Time{}
}

// deadline returns the end of the window, or zero.
func (m *maintenance) deadline() time.Time {
	if w := m.Spec.Window; w != nil && w.Deadline != nil {
		return w.Deadline.Time
	}
	return time.Time{}
}

// cancels reports whether the end of the window cancels the drains that have not ended.
func (v *view) cancels(m *maintenance) bool {
	at := m.deadline()
	return !at.IsZero() && !v.alarm.now.Before(at) && m.Spec.Window.AtDeadline == slipwayv1alpha1.CancelAtDeadline
}

// begin lets the maintenance begin with its next nodes. It joins the drain of a node, and waits for a node that
// returns.
func (s *selection) begin(m *maintenance) {
	t, next := s.of[m.UID], m.selected
	switch {
	case t.holdUp.reason != "":
		return
	case m.Spec.Rollout != nil:
		t.rollout, next = rollout.Next(s.rolloutFacts(m)), nil
		for _, name := range t.rollout.Begin {
			next = append(next, s.byName[name])
		}
	}
	for _, n := range next {
		if n.stateFor(m) == rollout.Waiting && s.contradicts(n, m).reason == "" && (n.drain == nil && n.back == nil || s.joinable(n, m)) {
			s.begins[n.name] = append(s.begins[n.name], Ref{UID: m.UID, Name: m.Name, Retry: m.Spec.Retry})
		}
	}
}

// joinable reports whether the drain of the node can serve one more maintenance. If an annotation declares the work of
// another maintenance done, that one must process it first. A rollout joins no drain that will end soon: it could exceed
// its limits.
func (s *selection) joinable(n *node, m *maintenance) bool {
	switch {
	case n.drain == nil || n.back != nil || ended(n.drain) || released(n.refs):
		return false
	case m.Spec.Rollout != nil && !s.needed(n):
		return false
	}
	return !workDone(n.drain) || !s.awaitsDone(n, m.UID)
}

// rolloutFacts returns the facts of package rollout.
func (s *selection) rolloutFacts(m *maintenance) rollout.Facts {
	var facts rollout.Facts
	if m.Spec.Rollout != nil {
		facts.Rollout = *m.Spec.Rollout
		facts.PendingPods, facts.PendingNames = s.notReadySince(m)
	}
	for _, n := range s.nodes {
		if !n.exists() {
			continue
		}
		if n.controlPlane() && (s.busy(n) || !n.ready() || len(n.CordonedFor) > 0) {
			facts.ControlPlaneOut = append(facts.ControlPlaneOut, n.name)
		}
		state := n.stateFor(m)
		if !m.selects(n) { // a node that is no longer selected counts until it has returned
			if !n.stillOut(m) {
				continue
			}
			state = rollout.Out
		}
		if state == rollout.Waiting && s.leavesTurn(n, m) {
			state = rollout.HeldBack
		}
		// A node that a user holds does not count: it would keep all others waiting for an unknown time.
		outForOthers := refOf(n.refs, m.UID) == nil && n.HeldBy == "" && (s.busy(n) || len(n.CordonedFor) > 0)
		facts.Nodes = append(facts.Nodes, rollout.Node{
			Name: n.name, State: state, Domain: n.Labels[facts.Rollout.TopologyKey], ControlPlane: n.controlPlane(),
			Down: !n.ready() || outForOthers, Budgets: n.Budgets,
		})
	}
	return facts
}

// busy reports whether the node is out of service, or begins now.
func (s *selection) busy(n *node) bool {
	return n.drain != nil || n.back != nil || len(s.begins[n.name]) > 0
}

// leavesTurn reports whether a node lets other nodes of a rollout begin first, as another tool has leased it for an
// unknown time. Once only leased nodes are left, they begin, and wait.
func (s *selection) leavesTurn(n *node, m *maintenance) bool {
	t := s.of[m.UID]
	return m.Spec.Rollout != nil && t.holdUp.reason == "" && t.freeWaits && s.heldByOthers(n).reason != ""
}

// stateFor returns the state of a node in package rollout.
func (n *node) stateFor(m *maintenance) rollout.State {
	r, out := n.recordOf(m), refOf(n.refs, m.UID) != nil
	switch {
	case r != nil && r.State == RecordFailed && (out || n.cordonedFor(*r)):
		return rollout.Failed
	case r != nil && r.State == RecordFailed:
		return rollout.FailedBack
	case r != nil && r.State == RecordReturned:
		return rollout.Returned
	case r != nil || out:
		return rollout.Out
	case n.yielding(m).reason != "":
		return rollout.HeldBack
	default:
		return rollout.Waiting
	}
}

// asks requests the facts that package rollout needs.
func (s *selection) asks(d *Decision) {
	for _, m := range s.maintenances {
		t := s.of[m.UID]
		d.Budgets = d.Budgets || t.rollout.Budgets
		d.CountPending = d.CountPending || t.holdUp.reason == "" && m.countsNotReady()
	}
}
