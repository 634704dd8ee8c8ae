// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// drained is for a node whose pods have left: hooks AfterDrain, work, hooks BeforeReturn. Without
// a rollout, it waits for stage Complete. job is the name of a Job that is at work on the node.
func (p *plan) drained(n *node, c claim, job string) move {
	since := latest(reachedAt(n.drain), c.Since)
	lost := p.leaseLost(n)
	workType := c.m.workType()
	began := c.worked() || saysDone(n.drain) && workType == slipwayv1alpha1.WorkManual
	switch {
	case c.m.Spec.Rollout == nil:
		return c.at(slipwayv1alpha1.NodeDrained, lost, since)
	case c.m.Spec.Paused:
		return c.at(slipwayv1alpha1.NodeDrained, isPaused, since)
	case lost.reason != "" && !began:
		return c.at(slipwayv1alpha1.NodeHeld, lost, since)
	case !c.Worked.IsZero():
		return p.worked(n, c)
	case !c.worked():
		if mv, held := p.heldByHooks(n, c, slipwayv1alpha1.AfterDrain, since); held {
			return mv
		}
	}
	switch workType {
	case slipwayv1alpha1.WorkNone:
		return p.worked(n, c)
	case slipwayv1alpha1.WorkJob:
		return p.byJob(n, c, since, job)
	default:
		return p.byHand(n, c, since)
	}
}

// byHand waits until a person or another tool says that the work is done.
func (p *plan) byHand(n *node, c claim, since time.Time) move {
	if saysDone(n.drain) {
		return p.worked(n, c)
	}
	if limit, over := p.workOver(c.m, since); over {
		return c.fails(n, cause{
			slipwayv1alpha1.ReasonWorkTimeout,
			fmt.Sprintf("spec.work.timeout: nobody said within %s that the work is done", limit),
		})
	}
	return c.at(slipwayv1alpha1.NodeWorking, cause{
		slipwayv1alpha1.ReasonWaitingForWork,
		fmt.Sprintf("waiting for somebody who says that the work is done: kubectl slipway done %s", n.name),
	}, since)
}

// workOver reports whether work that might have begun then has taken longer than it may, where
// there is no Job that says so.
func (v *view) workOver(m *maintenance, since time.Time) (limit time.Duration, over bool) {
	if m.Spec.Work == nil || m.Spec.Work.Timeout == nil {
		return 0, false
	}
	limit = m.Spec.Work.Timeout.Duration
	return limit, v.alarm.passed(since.Add(limit))
}

// worked records that the maintenance is done with the node, when no hook BeforeReturn holds it
// up. The event says first since when these hooks are asked: the Job that knows may be deleted.
func (p *plan) worked(n *node, c claim) move {
	if c.m.hasHooks(slipwayv1alpha1.BeforeReturn) {
		if c.Worked.IsZero() {
			c.Worked = p.second().Time
			return c.at(slipwayv1alpha1.NodeWorking, cause{}, c.Worked)
		}
		if mv, held := p.heldByHooks(n, c, slipwayv1alpha1.BeforeReturn, c.Worked); held {
			return mv
		}
	}
	mv := c.at(slipwayv1alpha1.NodeReturning, cause{}, time.Time{})
	mv.record = &Record{UID: c.UID, State: RecordDone, Retry: c.m.Spec.Retry}
	return mv
}
