// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// move is the next step of one maintenance with a node that is out for it.
type move struct {
	// ref is what the event is to say of the maintenance.
	ref Ref
	// status is nil while there is nothing to say.
	status *nodeStatus
	// record is nil, unless the maintenance is done with the node, or the node has failed.
	record *Record
	// job is to be created; nil: none.
	job *batchv1.Job
	// gated: the drain must not begin yet.
	gated bool
	// forgetsDone: the annotation that says that the work is done was meant for an earlier try.
	forgetsDone bool
}

// at is the move of a node that stays in a phase.
func (c claim) at(phase slipwayv1alpha1.MaintenanceNodePhase, why cause, since time.Time) move {
	return move{ref: c.Ref, status: &nodeStatus{phase: phase, cause: why, since: since}}
}

// fails is the move of a node that fails. The next status says so, when the record is written.
func (c claim) fails(n *node, why cause) move {
	failure := n.failure(c.m, why)
	return move{ref: c.Ref, record: &failure}
}

// out is for a node that is out, or about to be: all its maintenances make a step, and their
// changes to the event of its drain are written at once.
func (p *plan) out(n *node) (o outcome) {
	if !p.needed(n) {
		if !pending(n.drain) && p.awaitsLease(n, n.refs, &o) {
			return o
		}
		return p.release(n)
	}
	changed := n.drain.DeepCopy()
	refs, gated := p.continued(n, changed, &o)
	for _, ref := range p.begins[n.name] {
		gated = gated || p.byUID[ref.UID].hasHooks(slipwayv1alpha1.BeforeDrain)
		ref.Since = p.second().Time
		refs = append(refs, ref)
		delete(changed.Annotations, slipwayv1alpha1.WorkDoneAnnotation) // it was not meant for this one
		o.at(ref.UID, slipwayv1alpha1.NodeDraining, cause{}, time.Time{})
	}
	if !gated {
		removeGate(changed)
	}
	if pending(n.drain) {
		allow(changed, p.allowedGuards(n, refs))
	}
	p.cordonAgain(n, changed)
	setParameters(changed, p.parameters(n, changed))
	setRefs(changed, refs)
	o.change(n.drain, changed)
	o.steps = append(o.steps, p.fastForward(n)...)
	return o
}

// continued makes the next step of each maintenance that the node is out for. It returns what the
// event is to say of them, and whether its drain must not begin yet.
func (p *plan) continued(n *node, changed *lifecyclev1alpha1.LifecycleEvent, o *outcome) (refs []Ref, gated bool) {
	job := p.jobOn(n)
	for _, c := range p.claims[n.name] {
		if c.want == leaves {
			if c.leave(n, o); c.staysPaused(n) {
				refs = append(refs, c.Ref) // it returns when that is over
			}
			continue
		}
		mv := p.moveOf(n, c, job)
		if mv.status != nil {
			o.at(c.UID, mv.status.phase, mv.status.cause, mv.status.since)
		}
		if mv.record != nil {
			o.records = append(o.records, *mv.record)
		}
		if mv.job != nil {
			job = mv.job.Name
			o.do(CreateJob{Job: mv.job})
		}
		if mv.forgetsDone {
			delete(changed.Annotations, slipwayv1alpha1.WorkDoneAnnotation)
		}
		gated = gated || mv.gated
		refs = append(refs, mv.ref)
	}
	return refs, gated
}

// leave records what became of a node for a maintenance that needs it no more, while others do.
func (c claim) leave(n *node, o *outcome) {
	switch r := c.record; {
	case c.m == nil:
		return
	case r != nil && r.State == RecordDone || r == nil && c.drained && c.m.Spec.Stage == slipwayv1alpha1.StageComplete:
		o.records = append(o.records, Record{UID: c.UID, State: RecordReturned, Retry: c.m.Spec.Retry})
		o.at(c.UID, slipwayv1alpha1.NodeReturned, cause{}, time.Time{})
	}
	if c.staysPaused(n) {
		o.at(c.UID, slipwayv1alpha1.NodeDraining, isPaused, claimedAt(n.drain))
	}
}

// fastForward tells the maintenances that join a drain that it is further than they would begin
// (KEP-4212).
func (p *plan) fastForward(n *node) (steps []Step) {
	for _, ref := range p.begins[n.name] {
		if m := p.byUID[ref.UID]; m.drains() && drainplan.Exceeds(targetsOf(n.drain), m.plan) {
			steps = append(steps, Tell{About: m.NodeMaintenance, Reason: ReasonFastForwarded, Message: fmt.Sprintf(
				"fast-forwarding %s on node %s: its drain is further already, for other maintenances", m.Name, n.name)})
		}
	}
	return steps
}

// moveOf returns the next step of a maintenance that needs the node, or is done with it. job is
// the name of a Job that is at work on the node.
func (p *plan) moveOf(n *node, c claim, job string) move {
	if c.m == nil {
		return move{ref: c.Ref} // its Job is still running
	}
	if c.triesAgain(n) {
		return p.tryAgain(n, c)
	}
	if failed, is := failedStatus(c.record); is {
		return move{ref: c.Ref, status: &failed}
	}
	switch {
	case c.record != nil:
		return c.at(slipwayv1alpha1.NodeReturning, cause{slipwayv1alpha1.ReasonWaitingForOthers, "other maintenances are not done with the node"}, c.record.At)
	case c.running() && !c.selects(n):
		return c.at(slipwayv1alpha1.NodeReturning, cause{slipwayv1alpha1.ReasonJobRunning, "the Job on the node is waited for"}, time.Time{})
	case !c.m.works():
		mv, _ := p.heldByHooks(n, c, slipwayv1alpha1.BeforeReturn, p.completedSince(c.m))
		return mv
	case pending(n.drain):
		return p.beforeDrain(n, c)
	case !c.m.drains():
		return c.at(slipwayv1alpha1.NodeDraining, cause{message: "in stage Cordon, no pod leaves"}, claimedAt(n.drain))
	case !c.drained:
		return p.draining(n, c)
	}
	return p.drained(n, c, job)
}

// triesAgain reports whether a node that has failed begins again, as spec.retry was raised.
func (c claim) triesAgain(n *node) bool {
	raw := rawRecord(n.Records, c.UID)
	return raw != nil && raw.State == RecordFailed && c.record == nil && c.Retry < c.m.Spec.Retry
}

// tryAgain lets a node begin again from where it is. An older failure does not count from then on.
func (p *plan) tryAgain(n *node, c claim) move {
	mv := c.at(slipwayv1alpha1.NodeHeld, cause{message: "it is tried again"}, time.Time{})
	mv.ref.Retry, mv.ref.Since, mv.ref.Begun, mv.ref.Worked = c.m.Spec.Retry, p.second().Time, false, time.Time{}
	mv.gated, mv.forgetsDone = true, !p.awaitsDone(n, c.UID)
	return mv
}

// heldByHooks reports whether hooks of the maintenance hold the node up at a point that it has
// reached at the given time, or were not opened in time.
func (v *view) heldByHooks(n *node, c claim, point slipwayv1alpha1.HookPoint, since time.Time) (mv move, held bool) {
	hooks := v.hooksOf(n, c.m, point, since)
	switch {
	case hooks.late != nil:
		return c.fails(n, notOpened(hooks.late)), true
	case len(hooks.waiting) == 0:
		return move{ref: c.Ref}, false
	}
	return c.at(slipwayv1alpha1.NodeHeld, cause{
		slipwayv1alpha1.ReasonHookWaiting,
		fmt.Sprintf("%s: waiting for hook %s (annotation %s%s of LifecycleEvent %s)", point, strings.Join(hooks.waiting, ", "),
			slipwayv1alpha1.HookAnnotationPrefix, hooks.waiting[0], n.drain.Name),
	}, since), true
}

func notOpened(hook *slipwayv1alpha1.MaintenanceHook) cause {
	return cause{slipwayv1alpha1.ReasonHookTimeout, fmt.Sprintf("spec.hooks[%s]: nobody opened it within %s", hook.Name, hook.Timeout.Duration)}
}

// beforeDrain is for a node whose event is not claimed yet.
func (p *plan) beforeDrain(n *node, c claim) (mv move) {
	created := n.drain.CreationTimestamp.Time
	held := false
	switch {
	case gated(n.drain) && c.m.Spec.Paused:
		mv, held = c.at(slipwayv1alpha1.NodeHeld, isPaused, created), true
	case gated(n.drain):
		mv, held = p.heldByHooks(n, c, slipwayv1alpha1.BeforeDrain, latest(created, c.Since))
	}
	if !held {
		return c.at(slipwayv1alpha1.NodeHeld, c.m.notClaimed(n.drain), created)
	}
	mv.gated = true
	return mv
}

// draining is for a node whose pods leave.
func (p *plan) draining(n *node, c claim) move {
	// If it was drained, and has pods again, the drain has begun anew.
	since := latest(latest(claimedAt(n.drain), c.Since), reachedAt(n.drain))
	why := p.slows(n)
	mv := c.at(slipwayv1alpha1.NodeDraining, why, since)
	if how := c.m.Spec.Drain; how != nil && how.Timeout != nil && p.alarm.passed(since.Add(how.Timeout.Duration)) {
		message := fmt.Sprintf("spec.drain.timeout: the node was not drained within %s", how.Timeout.Duration)
		if blockers := n.drain.Status.Blockers; len(blockers) > 0 {
			message += fmt.Sprintf("; %s: %s", blockers[0].Object, blockers[0].Reason)
		}
		failure := n.failure(c.m, cause{slipwayv1alpha1.ReasonDrainTimeout, message})
		mv.record = &failure
	}
	return mv
}

// slows returns what holds up the drain of a node: a deadlock, a blocker, other maintenances, or a
// lease that was lost.
func (p *plan) slows(n *node) cause {
	message := p.drains.Messages[n.name]
	switch {
	case p.deadlocks.ofNode[n.name].reason != "":
		return p.deadlocks.ofNode[n.name]
	case len(n.drain.Status.Blockers) > 0:
		b := n.drain.Status.Blockers[0]
		return cause{slipwayv1alpha1.ReasonBlocked, fmt.Sprintf("%s: %s", b.Object, b.Message)}
	case strings.HasPrefix(message, "Waiting"):
		return cause{slipwayv1alpha1.ReasonWaitingForOthers, readable(message)}
	default:
		return p.leaseLost(n)
	}
}

const (
	againFirst = time.Minute
	againMax   = time.Hour
)

// cordonAgain makes the drain of a node cordon it again, if a third party has uncordoned it and
// the drain has seen the last change. It does so at once, and then at growing intervals.
func (p *plan) cordonAgain(n *node, changed *lifecyclev1alpha1.LifecycleEvent) {
	if !n.uncordoned() || n.drain.Status.ObservedGeneration != n.drain.Generation || p.leaseLost(n).reason != "" {
		return
	}
	times, last := cordonedAgain(n.drain)
	if times > 0 && !p.alarm.passed(last.Add(min(againFirst<<min(times-1, 10), againMax))) {
		return
	}
	annotate(changed, AnnotationCordonedAgain, fmt.Sprintf("%d %s", times+1, stamp(p.alarm.now)))
}
