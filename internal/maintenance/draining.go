// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// move is the next step of one maintenance on a node that is out of service for it.
type move struct {
	// ref is the new entry of the maintenance on the event.
	ref Ref
	// status is nil if the node keeps its status.
	status *nodeStatus
	// record is nil, unless the maintenance has completed its part on the node, or the node has failed.
	record *Record
	// job is a Job to create, or nil.
	job *batchv1.Job
	// gated: the drain must not begin yet.
	gated bool
	// forgetsDone: the annotation that declares the work done was from an earlier try.
	forgetsDone bool
}

// at is the move of a node that stays in a phase.
func (c claim) at(phase slipwayv1alpha1.MaintenanceNodePhase, why cause, since time.Time) move {
	return move{ref: c.Ref, status: &nodeStatus{phase: phase, cause: why, since: since}}
}

// fails is the move of a node that fails. The status reports it once the record exists.
func (c claim) fails(n *node, reason, format string, args ...any) move {
	failure := n.failure(c.m, cause{reason, fmt.Sprintf(format, args...)})
	return move{ref: c.Ref, record: &failure}
}

// out is for a node that is out of service, or will be soon: all its maintenances make a step, in one write of
// the event of its drain.
func (p *plan) out(n *node) (o outcome) {
	o = newOutcome()
	if !p.needed(n) {
		if !pending(n.drain) && p.isBarred(n, n.refs, &o) {
			return o
		}
		return p.release(n)
	}
	var told []Step
	changed := n.drain.DeepCopy()
	refs, gated := p.continued(n, changed, &o)
	for _, ref := range p.begins[n.name] {
		gated = gated || p.byUID[ref.UID].hasHooks(slipwayv1alpha1.BeforeDrain)
		ref.Since = p.second().Time
		refs = append(refs, ref)
		delete(changed.Annotations, slipwayv1alpha1.WorkDoneAnnotation) // it is not about this maintenance
		o.at(ref.UID, slipwayv1alpha1.NodeDraining, cause{}, time.Time{})
		// KEP-4212: a drain can be ahead of a maintenance that joins it.
		if m := p.byUID[ref.UID]; m.drains() && drainplan.Exceeds(targetsOf(n.drain), m.plan) {
			told = append(told, Tell{About: m.NodeMaintenance, Reason: ReasonFastForwarded, Message: fmt.Sprintf(
				"fast-forwarding %s on node %s: other maintenances have drained it further already", m.Name, n.name)})
		}
	}
	if !gated {
		changed.Spec.Gates = without(changed.Spec.Gates, ourGate)
	}
	if pending(n.drain) {
		allow(changed, p.allowedGuards(n, refs))
		refs = p.takingOver(refs)
	}
	p.cordonAgain(n, changed)
	setParameters(changed, p.parameters(n, changed))
	setRefs(changed, refs)
	o.change(n.drain, changed)
	o.steps = append(o.steps, told...)
	return o
}

// continued makes the next step of each maintenance of the node. It returns their new entries on the event, and
// whether the drain must not begin yet.
func (p *plan) continued(n *node, changed *lifecyclev1alpha1.LifecycleEvent, o *outcome) (refs []Ref, gated bool) {
	job := p.jobOn(n)
	for _, c := range p.claims[n.name] {
		if c.want == leaves {
			if c.leave(n, o); c.staysPaused(n) {
				refs = append(refs, c.Ref) // it returns after the pause
			}
			continue
		}
		mv := p.moveOf(n, c, job)
		if mv.status != nil {
			o.statuses[c.UID] = *mv.status
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

// leave records the result of a maintenance on a node that only other maintenances need.
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

// moveOf returns the next step of a maintenance that needs the node, or has completed its part there. job is the
// name of a running Job on the node.
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
		return c.at(slipwayv1alpha1.NodeReturning, cause{slipwayv1alpha1.ReasonWaitingForOthers, "other maintenances still need the node"}, c.record.At)
	case c.running() && !c.selects(n):
		return c.at(slipwayv1alpha1.NodeReturning, cause{slipwayv1alpha1.ReasonJobRunning, "waiting for the end of the Job on the node"}, time.Time{})
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

// triesAgain reports whether a failed node begins again, because of a raised spec.retry.
func (c claim) triesAgain(n *node) bool {
	raw := rawRecord(n.Records, c.UID)
	return raw != nil && raw.State == RecordFailed && c.record == nil && c.Retry < c.m.Spec.Retry
}

// tryAgain lets a node begin again from its current phase. From then on, older failures do not count.
func (p *plan) tryAgain(n *node, c claim) move {
	mv := c.at(slipwayv1alpha1.NodeHeld, cause{message: "the node begins again"}, time.Time{})
	mv.ref.Retry, mv.ref.Since, mv.ref.Begun, mv.ref.Worked = c.m.Spec.Retry, p.second().Time, false, time.Time{}
	mv.gated, mv.forgetsDone = true, !p.awaitsDone(n, c.UID)
	return mv
}

// heldByHooks reports whether hooks hold the node at a point that it reached at the given time, or were not
// opened in time.
func (v *view) heldByHooks(n *node, c claim, point slipwayv1alpha1.HookPoint, since time.Time) (mv move, held bool) {
	hooks := v.hooksOf(n, c.m, point, since)
	switch {
	case hooks.late != nil:
		late := notOpened(hooks.late)
		return c.fails(n, late.reason, "%s", late.message), true
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
	return cause{slipwayv1alpha1.ReasonHookTimeout, fmt.Sprintf("spec.hooks[%s]: the hook was not opened within %s", hook.Name, hook.Timeout.Duration)}
}

// beforeDrain is for a node whose event is Pending.
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
	// If the node was drained, and has pods again, its drain has begun again.
	since := latest(latest(claimedAt(n.drain), c.Since), reachedAt(n.drain))
	mv := c.at(slipwayv1alpha1.NodeDraining, p.slows(n), since)
	if how := c.m.Spec.Drain; how != nil && how.Timeout != nil && p.alarm.passed(since.Add(how.Timeout.Duration)) {
		message := fmt.Sprintf("spec.drain.timeout: the node was not drained within %s", how.Timeout.Duration)
		if blockers := n.drain.Status.Blockers; len(blockers) > 0 {
			message += fmt.Sprintf("; %s: %s", blockers[0].Object, blockers[0].Reason)
		}
		mv.record = c.fails(n, slipwayv1alpha1.ReasonDrainTimeout, "%s", message).record
	}
	return mv
}

// slows returns the first obstacle of a drain: a deadlock, a blocker, other maintenances, or a lost lease. Maintenances that
// only limit its targets are no obstacle, but its message names them.
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
	}
	why := p.barred(n)
	if why.reason == "" && strings.Contains(message, "limited by") {
		why.message = readable(message)
	}
	return why
}

const (
	againFirst = time.Minute
	againMax   = time.Hour
)

// cordonAgain makes the drain of a node cordon it again, if a third party has uncordoned it and the drain has
// observed the last change: at once, and then at growing intervals.
func (p *plan) cordonAgain(n *node, changed *lifecyclev1alpha1.LifecycleEvent) {
	if !n.uncordoned() || n.drain.Status.ObservedGeneration != n.drain.Generation || p.barred(n).reason != "" {
		return
	}
	times, last := cordonedAgain(n.drain)
	if times > 0 && !p.alarm.passed(last.Add(min(againFirst<<min(times-1, 10), againMax))) {
		return
	}
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, AnnotationCordonedAgain, fmt.Sprintf("%d %s", times+1, stamp(p.alarm.now)))
}
