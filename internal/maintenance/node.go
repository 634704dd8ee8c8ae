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

// outcome is what is decided about one node.
type outcome struct {
	steps []Step
	// statuses say where the node is for its maintenances.
	statuses map[types.UID]nodeStatus
	// records are to replace those of the same maintenances on the Node.
	records []Record
	// check: the pods of the node's DaemonSets have to be watched.
	check bool
}

// nodeStatus says where a node is for a maintenance.
type nodeStatus struct {
	phase slipwayv1alpha1.MaintenanceNodePhase
	cause
	since time.Time
	// pods have yet to leave.
	pods int32
	// drained: the node is drained as far as the maintenance wants.
	drained bool
	// inStep: it has done what it is to do by now, and waits for other nodes.
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

// advance takes a node one step further, by the phase that it is in.
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

// abandon ends the events of a Node that was deleted. The agent that claimed one settles it.
func (n *node) abandon() (o outcome) {
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

// change writes an event, if anything of it has changed.
func (o *outcome) change(seen, changed *lifecyclev1alpha1.LifecycleEvent) {
	if !equality.Semantic.DeepEqual(seen, changed) {
		o.do(ChangeEvent{Seen: seen, Changed: changed})
	}
}

// letGo removes our finalizer from an event whose outcome is recorded.
func (o *outcome) letGo(e *lifecyclev1alpha1.LifecycleEvent) {
	changed := e.DeepCopy()
	changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool {
		return f == slipwayv1alpha1.MaintenanceEventFinalizer
	})
	o.change(e, changed)
}

// at says where the node is for a maintenance.
func (o *outcome) at(uid types.UID, phase slipwayv1alpha1.MaintenanceNodePhase, why cause, since time.Time) {
	if o.statuses == nil {
		o.statuses = map[types.UID]nodeStatus{}
	}
	o.statuses[uid] = nodeStatus{phase: phase, cause: why, since: since}
}

// everywhere says the same for all maintenances that the node is out for, but for those that have
// recorded a failure.
func (o *outcome) everywhere(claims []claim, phase slipwayv1alpha1.MaintenanceNodePhase, why cause, since time.Time) {
	for _, c := range claims {
		switch failed, is := failedStatus(c.record); {
		case c.m == nil:
		case is:
			o.at(c.UID, failed.phase, failed.cause, failed.since)
		default:
			o.at(c.UID, phase, why, since)
		}
	}
}

// failedStatus says that a node has failed, if it has.
func failedStatus(r *Record) (s nodeStatus, is bool) {
	if r == nil || r.State != RecordFailed {
		return nodeStatus{}, false
	}
	return nodeStatus{phase: slipwayv1alpha1.NodeFailed, cause: cause{r.Reason, r.Message}, since: r.At}, true
}

// refine adds to a status what holds in every phase.
func (p *plan) refine(n *node, uid types.UID, s nodeStatus) nodeStatus {
	s.drained = n.back != nil
	i := slices.IndexFunc(p.claims[n.name], func(c claim) bool { return c.UID == uid })
	if i >= 0 {
		c := p.claims[n.name][i]
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

// failure returns the record of a node that has failed for a maintenance.
func (n *node) failure(m *maintenance, why cause) Record {
	r := Record{UID: m.UID, State: RecordFailed, Retry: m.Spec.Retry, Reason: why.reason, Message: why.message}
	if n.drain != nil {
		r.Event, r.Cordon = n.drain.UID, n.drain.UID
	}
	return r
}

// recordSteps writes the records of a Node, if they have changed. It removes records of
// maintenances that were deleted, or that are being deleted and have returned the node.
func (p *plan) recordSteps(n *node, added []Record) []Step {
	records := n.Records
	for _, r := range added {
		r.Message = reasons.Shorten(r.Message, maxRecordMessage)
		r.At = p.second().Time
		if old := rawRecord(n.Records, r.UID); old != nil && n.cordonedFor(*old) {
			r.Cordon = old.Cordon // nothing has undone it yet
		}
		records = slices.DeleteFunc(slices.Clone(records), func(old Record) bool { return old.UID == r.UID })
		records = append(records, r)
	}
	records = slices.DeleteFunc(slices.Clone(records), func(r Record) bool {
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

// The controller repeats a step that the API server refuses, at growing intervals. Until the step
// succeeds, the node makes no progress, and its status says so: somebody has to act.

// refusalOf returns why the API server refuses the first of a node's steps that it refuses. Only
// steps count on which the node's progress depends: not those that inform people or tidy up, and
// no Jobs, of which the status says more.
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

// showRefusal says where a node is that a refused step holds up.
func (p *plan) showRefusal(n *node, o *outcome) {
	why := p.refusalOf(o.steps)
	if why == "" {
		return
	}
	if o.statuses == nil {
		o.statuses = map[types.UID]nodeStatus{}
	}
	for _, m := range p.maintenances {
		if !n.stillOut(m) && refOf(p.begins[n.name], m.UID) == nil {
			continue
		}
		s, found := o.statuses[m.UID]
		failed, is := failedStatus(n.recordOf(m))
		switch {
		case !found && is: // nothing returns it to service
			s = nodeStatus{phase: failed.phase, since: failed.since}
		case !found:
			s = nodeStatus{phase: slipwayv1alpha1.NodeHeld}
		case s.phase == slipwayv1alpha1.NodeFailed && !m.returns():
			continue // why it has failed matters more
		case s.phase == slipwayv1alpha1.NodeReturned:
			s.phase, s.since = slipwayv1alpha1.NodeReturning, time.Time{}
		}
		s.cause = cause{slipwayv1alpha1.ReasonStepRefused, why}
		o.statuses[m.UID] = s
	}
}
