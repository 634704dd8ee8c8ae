// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// drained takes a node on whose pods have left: hooks, work, hooks.
func (p *pass) drained(n *node, m *maintained, entry *For) {
	since := latest(reachedAt(n.drain), entry.Since)
	held, lost := p.lostLease(n)
	switch {
	case m.Spec.Rollout == nil:
		p.at(n, m.UID, slipwayv1alpha1.NodeDrained, held, since)
		return
	case m.Spec.Paused:
		p.at(n, m.UID, slipwayv1alpha1.NodeDrained, reasoned{slipwayv1alpha1.ReasonPaused, "spec.paused is true"}, since)
		return
	case lost && !p.workBegan(n, m, *entry):
		p.at(n, m.UID, slipwayv1alpha1.NodeHeld, held, since)
		return
	case !entry.Worked.IsZero():
		p.worked(n, m, entry)
		return
	case !entry.Begun && p.jobOf(n, *entry) == nil && !p.hooksOpen(n, m, slipwayv1alpha1.AfterDrain, since):
		return
	}
	switch m.workType() {
	case slipwayv1alpha1.WorkNone:
		p.worked(n, m, entry)
	case slipwayv1alpha1.WorkJob:
		p.job(n, m, entry, since)
	default:
		p.byHand(n, m, entry, since)
	}
}

func (m *maintained) workType() slipwayv1alpha1.WorkType {
	if m.Spec.Work == nil {
		return slipwayv1alpha1.WorkManual
	}
	return m.Spec.Work.Type
}

// byHand waits for somebody who says that the work is done.
func (p *pass) byHand(n *node, m *maintained, entry *For, since time.Time) {
	if _, said := n.drain.Annotations[slipwayv1alpha1.WorkDoneAnnotation]; said {
		p.worked(n, m, entry)
		return
	}
	if limit, over := p.workOver(m, since); over {
		p.fail(n, m, reasoned{
			slipwayv1alpha1.ReasonWorkTimeout,
			fmt.Sprintf("spec.work.timeout: nobody said within %s that the work is done", limit),
		})
		return
	}
	p.at(n, m.UID, slipwayv1alpha1.NodeWorking, reasoned{
		slipwayv1alpha1.ReasonWaitingForWork,
		fmt.Sprintf("waiting for somebody who says that the work is done: kubectl slipway done %s", n.name),
	}, since)
}

// workOver says whether work that might have begun then has taken longer than it may, where
// there is no Job to say so.
func (p *pass) workOver(m *maintained, since time.Time) (limit time.Duration, over bool) {
	if m.Spec.Work == nil || m.Spec.Work.Timeout == nil {
		return 0, false
	}
	limit = m.Spec.Work.Timeout.Duration
	p.wakeAt(since.Add(limit))
	return limit, !p.now.Before(since.Add(limit))
}

// worked records that the maintenance is done with the node, when no hook holds that up.
// Since when they do is written down first: the Job that knows may be deleted.
func (p *pass) worked(n *node, m *maintained, entry *For) {
	if m.asksAt(slipwayv1alpha1.BeforeReturn) {
		if entry.Worked.IsZero() {
			entry.Worked = p.second().Time
			p.at(n, m.UID, slipwayv1alpha1.NodeWorking, reasoned{}, entry.Worked)
			return
		}
		if !p.hooksOpen(n, m, slipwayv1alpha1.BeforeReturn, entry.Worked) {
			return
		}
	}
	p.note(n, Record{UID: m.UID, State: RecordDone, Retry: m.Spec.Retry})
	p.at(n, m.UID, slipwayv1alpha1.NodeReturning, reasoned{}, time.Time{})
}
