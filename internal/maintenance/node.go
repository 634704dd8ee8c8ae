// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// outcome is the decision about one node.
type outcome struct {
	steps []Step
	// statuses of the node, by maintenance.
	statuses map[types.UID]nodeStatus
	// records replace the records of the same maintenances on the Node.
	records []Record
	// check: the next decision needs the pods of the node's DaemonSets.
	check bool
}

func newOutcome() outcome { return outcome{statuses: map[types.UID]nodeStatus{}} }

// nodeStatus is the status of a node for a maintenance.
type nodeStatus struct {
	phase slipwayv1alpha1.MaintenanceNodePhase
	cause
	since time.Time
	// pods counts the pods that have yet to leave.
	pods int32
	// drained: the node has reached the last step of the maintenance's plan.
	drained bool
	// inStep: the node has reached its targets, and waits for other nodes.
	inStep bool
}

// nextOf returns the next steps of a node.
func (p *plan) nextOf(n *node) (o outcome, watchKeptAway bool) {
	o = p.advance(n)
	if n.exists() {
		o.steps = append(o.steps, p.recordSteps(n, slices.Concat(p.deadlocks.records[n.name], o.records))...)
		o.steps = append(o.steps, p.markSteps(n, p.refusalOf(o.steps) != "")...)
		var keepAway []Step
		keepAway, watchKeptAway = p.keepAway(n)
		o.steps = append(o.steps, keepAway...)
	}
	p.showRefusal(n, &o)
	return o, watchKeptAway
}

// advance makes the next step of a node in its phase.
func (p *plan) advance(n *node) (o outcome) {
	switch {
	case !n.exists():
		return n.abandon()
	case n.back != nil:
		o = p.returning(n)
	case n.drain == nil:
		o = p.waiting(n)
	case ended(n.drain):
		o = p.drainEnded(n)
	case released(n.refs):
		o = p.unneeded(n)
	default:
		o = p.out(n)
	}
	for uid, s := range o.statuses {
		o.statuses[uid] = p.refine(n, uid, s)
	}
	return o
}

// abandon ends the events of a deleted Node. The agent that has claimed an event settles it.
func (n *node) abandon() outcome {
	o := newOutcome()
	for _, e := range []*lifecyclev1alpha1.LifecycleEvent{n.drain, n.back} {
		switch {
		case e == nil:
		case over(e):
			o.letGo(e)
		case !ended(e):
			o.do(DeleteEvent{Event: e})
		}
	}
	return o
}

func (o *outcome) do(step Step) { o.steps = append(o.steps, step) }

// change writes an event if it differs.
func (o *outcome) change(seen, changed *lifecyclev1alpha1.LifecycleEvent) {
	if !equality.Semantic.DeepEqual(seen, changed) {
		o.do(ChangeEvent{Seen: seen, Changed: changed})
	}
}

// letGo removes this controller's finalizer from an event, whose result is on record.
func (o *outcome) letGo(e *lifecyclev1alpha1.LifecycleEvent) {
	changed := e.DeepCopy()
	changed.Finalizers = without(changed.Finalizers, slipwayv1alpha1.MaintenanceEventFinalizer)
	o.change(e, changed)
}

// at sets the status of the node for a maintenance.
func (o *outcome) at(uid types.UID, phase slipwayv1alpha1.MaintenanceNodePhase, why cause, since time.Time) {
	o.statuses[uid] = nodeStatus{phase: phase, cause: why, since: since}
}

// everywhere sets the status of the node for all its maintenances, except those with a recorded failure.
func (o *outcome) everywhere(claims []claim, phase slipwayv1alpha1.MaintenanceNodePhase, why cause, since time.Time) {
	for _, c := range claims {
		if failed, is := failedStatus(c.record); is {
			o.statuses[c.UID] = failed
		} else if c.m != nil {
			o.at(c.UID, phase, why, since)
		}
	}
}

// failedStatus returns the status of a recorded failure.
func failedStatus(r *Record) (s nodeStatus, is bool) {
	if r == nil || r.State != RecordFailed {
		return nodeStatus{}, false
	}
	return nodeStatus{phase: slipwayv1alpha1.NodeFailed, cause: cause{r.Reason, r.Message}, since: r.At}, true
}

// refine adds to a status the facts that do not depend on the phase.
func (p *plan) refine(n *node, uid types.UID, s nodeStatus) nodeStatus {
	s.drained = n.back != nil
	if c := find(p.claims[n.name], func(c claim) bool { return c.UID == uid }); c != nil {
		if n.drain != nil {
			s.drained = s.drained || c.drained
			s.inStep = c.m.Spec.Rollout == nil && n.back == nil && reached(n.drain)
			if progress := n.drain.Status.Progress; progress != nil {
				s.pods = max(0, progress.Total-progress.Done)
			}
		}
		if p.yields(n, c.Ref) {
			s.cause = cause{slipwayv1alpha1.ReasonDeadlockHeldBack, rawRecord(n.Records, uid).Message}
		}
	}
	if n.drain != nil && n.uncordoned() && s.phase != slipwayv1alpha1.NodeFailed {
		s.cause = cause{ReasonNodeUncordoned, uncordoned}
	}
	return s
}

// maxRecordMessage limits the message of a record, in bytes.
const maxRecordMessage = 256

// failure returns the record of a failure.
func (n *node) failure(m *maintenance, why cause) Record {
	r := Record{UID: m.UID, State: RecordFailed, Retry: m.Spec.Retry, Reason: why.reason, Message: why.message}
	if n.drain != nil {
		r.Event, r.Cordon = n.drain.UID, n.drain.UID
	}
	return r
}

// recordSteps writes the records of a Node, if they have changed. It removes the records of maintenances that
// were deleted, or that are being deleted and have returned the node.
func (p *plan) recordSteps(n *node, added []Record) []Step {
	records := slices.Clone(n.Records)
	for _, r := range added {
		r.Message = reasons.Shorten(r.Message, maxRecordMessage)
		r.At = p.second().Time
		if old := rawRecord(n.Records, r.UID); old != nil && n.cordonedFor(*old) {
			r.Cordon = old.Cordon // the node is still cordoned for it
		}
		records = append(slices.DeleteFunc(records, func(old Record) bool { return old.UID == r.UID }), r)
	}
	records = slices.DeleteFunc(records, func(r Record) bool {
		m := p.byUID[r.UID]
		if m != nil && (m.DeletionTimestamp == nil || refOf(n.refs, r.UID) != nil) {
			return false
		}
		return m == nil || !n.cordonedFor(r) || m.givenUp(r)
	})
	if slices.Equal(records, n.Records) {
		return nil
	}
	return []Step{RecordOnNode{Node: n.name, Records: records}}
}

// The controller repeats refused steps at growing intervals. Until the step succeeds, the node makes no progress,
// and its status shows the refusal.

// refusalOf returns the first refusal of a step of a node that its progress depends on: it ignores steps that
// inform or tidy up, and Jobs, which the status reports in more detail.
func (v *view) refusalOf(steps []Step) string {
	for _, step := range steps {
		why, refused := v.facts.Refused[Key(step)]
		if !refused {
			continue
		}
		switch step.(type) {
		case CreateEvent, ChangeEvent, DeleteEvent, RecordOnNode, KeepAway, LetBack:
			return why
		}
	}
	return ""
}

// showRefusal sets the status of a node with a refused step.
func (p *plan) showRefusal(n *node, o *outcome) {
	why := p.refusalOf(o.steps)
	if why == "" {
		return
	}
	for _, m := range p.maintenances {
		if !n.stillOut(m) && refOf(p.begins[n.name], m.UID) == nil {
			continue
		}
		s, found := o.statuses[m.UID]
		failed, is := failedStatus(n.recordOf(m))
		switch {
		case !found && is: // the node cannot return
			s = nodeStatus{phase: failed.phase, since: failed.since}
		case !found:
			s = nodeStatus{phase: slipwayv1alpha1.NodeHeld}
		case s.phase == slipwayv1alpha1.NodeFailed && !m.returns():
			continue // the failure matters more
		case s.phase == slipwayv1alpha1.NodeReturned:
			s.phase, s.since = slipwayv1alpha1.NodeReturning, time.Time{}
		}
		s.cause = cause{slipwayv1alpha1.ReasonStepRefused, why}
		o.statuses[m.UID] = s
	}
}
