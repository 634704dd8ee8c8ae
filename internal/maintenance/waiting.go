// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// waiting is for a node without an event: a node that begins now, that is still cordoned after a failed drain, or
// that a third party has returned to service.
func (p *plan) waiting(n *node) outcome {
	o := newOutcome()
	if len(p.begins[n.name]) > 0 {
		o.steps = p.takeOut(n)
		return o
	}
	if left := p.leftCordoned(n); len(left) > 0 {
		p.putBack(n, left, &o)
		return o
	}
	for _, r := range n.Records {
		if m := p.byUID[r.UID]; m != nil && r.State == RecordDone && m.DeletionTimestamp == nil {
			o.records = append(o.records, Record{UID: m.UID, State: RecordReturned, Retry: r.Retry})
		}
	}
	return o
}

// maxReason limits spec.reason of an event, in bytes.
const maxReason = 1024

// takeOut requests the drain of a node. The gate holds it until the hooks BeforeDrain are open.
func (p *plan) takeOut(n *node) []Step {
	begins := p.takingOver(p.begins[n.name])
	if steps, free := n.clearName(DrainName(n.name)); !free {
		return steps
	}
	first := p.byUID[begins[0].UID]
	e := newDrain(n.name, begins, p.parameters(n, nil))
	if slices.ContainsFunc(begins, func(ref Ref) bool { return p.byUID[ref.UID].hasHooks(slipwayv1alpha1.BeforeDrain) }) {
		e.Spec.Gates = append(e.Spec.Gates, ourGate)
	}
	if p.facts.Leases { // from Kubernetes 1.36 on, a policy adds it as well
		e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: lifecyclev1alpha1.GateLease})
	}
	allow(e, p.allowedGuards(n, begins))
	e.Spec.Reason = "maintenance " + first.Name
	if first.Spec.Reason != "" {
		e.Spec.Reason += ": " + first.Spec.Reason
	}
	e.Spec.Reason = reasons.Shorten(e.Spec.Reason, maxReason)
	e.Spec.RequestedBy = first.Spec.RequestedBy
	return []Step{CreateEvent{Event: e}}
}

// clearName reports whether the name of an event is free. It deletes an ended event of that name.
func (n *node) clearName(name string) (steps []Step, free bool) {
	for _, e := range n.leftover {
		if e.Name != name {
			continue
		}
		if e.DeletionTimestamp == nil {
			steps = append(steps, DeleteEvent{Event: e})
		}
		return steps, false
	}
	return nil, true
}

// putBack requests the return of a node, once Slipway has its lease.
func (p *plan) putBack(n *node, refs []Ref, o *outcome) {
	if p.isBarred(n, refs, o) {
		return
	}
	steps, free := n.clearName(ReturnName(n.name))
	o.steps = append(o.steps, steps...)
	if free {
		o.do(CreateEvent{Event: newEvent(ReturnName(n.name), LabelReturn, lifecyclev1alpha1.ReturnTransition, n.name, refs)})
	}
}

// isBarred reports whether a node does not return because of a lost lease, and sets its statuses.
func (p *plan) isBarred(n *node, refs []Ref, o *outcome) bool {
	why := p.barred(n)
	if why.reason == "" {
		return false
	}
	for _, ref := range refs {
		m := p.byUID[ref.UID]
		if m == nil {
			continue
		}
		if failed, is := failedStatus(n.recordOf(m)); is && n.drain != nil {
			o.statuses[m.UID] = failed
		} else {
			o.at(m.UID, slipwayv1alpha1.NodeHeld, why, time.Time{})
		}
	}
	return true
}

// leftCordoned returns the maintenances for which a node without a drain is still cordoned, unless one of them wants
// it to stay cordoned.
func (p *plan) leftCordoned(n *node) []Ref {
	var left []Ref
	for _, r := range n.Records {
		if !n.cordonedFor(r) {
			continue
		}
		m := p.byUID[r.UID]
		switch {
		case m == nil, m.givenUp(r):
			continue
		case r.State == RecordFailed && m.works() && m.selects(n):
			return nil
		}
		left = append(left, Ref{UID: r.UID, Name: m.Name, Retry: r.Retry, Released: true})
	}
	return left
}

// The guards hold the drains of maintenances like any other drain: a node waits until another one has returned. Without
// a rollout, it would wait forever, as all nodes return together. So the events of the drains get spec.allow of the
// NodeMaintenance. Its author needed the permission to delete these nodes. An event of several maintenances allows the
// guards of each.

// allowedGuards returns the guards that must not hold the drain of a node.
func (p *plan) allowedGuards(n *node, refs []Ref) []lifecyclev1alpha1.Guard {
	var all []lifecyclev1alpha1.Guard
	for _, ref := range refs {
		m := p.byUID[ref.UID]
		if m == nil || ref.Released || !m.works() || !m.selects(n) || n.recordOf(m) != nil {
			continue
		}
		if m.allows(slipwayv1alpha1.GuardLastSchedulableNode) {
			all = append(all, lifecyclev1alpha1.GuardLastSchedulableNode)
		}
		// A rollout drains one node of the control plane at a time, whatever its author allows.
		if m.allows(slipwayv1alpha1.GuardAllControlPlaneNodes) && m.Spec.Rollout == nil && n.controlPlane() {
			all = append(all, lifecyclev1alpha1.GuardSecondControlPlaneNode)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// takingOver returns the maintenances of an event, with the note of those that take the node over from users.
func (p *plan) takingOver(refs []Ref) []Ref {
	refs = slices.Clone(refs)
	for i := range refs {
		m := p.byUID[refs[i].UID]
		refs[i].TakeOver = m != nil && m.Spec.HeldNodes == slipwayv1alpha1.HeldNodesTakeOver
	}
	return refs
}

// allow adds guards that must not hold an event. It removes none, as a guard has no effect after it has passed the
// event.
func allow(e *lifecyclev1alpha1.LifecycleEvent, guards []lifecyclev1alpha1.Guard) {
	for _, guard := range guards {
		if !slices.Contains(e.Spec.Allow, guard) {
			e.Spec.Allow = append(e.Spec.Allow, guard)
		}
	}
}

// notClaimed returns the condition that keeps agents from claiming an event.
func notClaimed(e *lifecyclev1alpha1.LifecycleEvent) cause {
	for _, kind := range []string{lifecyclev1alpha1.ConditionLeaseHeld, lifecyclev1alpha1.ConditionGuardsPassed, lifecyclev1alpha1.ConditionClaimable} {
		if c := apimeta.FindStatusCondition(e.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			return cause{c.Reason, c.Message}
		}
	}
	return cause{slipwayv1alpha1.ReasonGated, fmt.Sprintf("no agent has claimed LifecycleEvent %s yet", e.Name)}
}

// notClaimed returns the same, with the remedy for a guard.
func (m *maintenance) notClaimed(e *lifecyclev1alpha1.LifecycleEvent) cause {
	why := notClaimed(e)
	var remedy string
	switch guard := lifecyclev1alpha1.Guard(why.reason); {
	case guard == lifecyclev1alpha1.GuardLastSchedulableNode:
		remedy = fmt.Sprintf("spec.allow: [%s] lets it", slipwayv1alpha1.GuardLastSchedulableNode)
	case guard == lifecyclev1alpha1.GuardSecondControlPlaneNode && m.Spec.Rollout == nil:
		remedy = fmt.Sprintf("spec.allow: [%s] lets it", slipwayv1alpha1.GuardAllControlPlaneNodes)
	case guard == lifecyclev1alpha1.GuardSecondControlPlaneNode:
		remedy = fmt.Sprintf("the drain waits for the other node; spec.allow: [%s] of LifecycleEvent %s lets it at once", guard, e.Name)
	default:
		return why
	}
	why.message = reasons.Matter(lifecyclev1alpha1.ConditionGuardsPassed, why.reason, why.message) + "; " + remedy
	return why
}
