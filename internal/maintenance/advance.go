// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// advance takes a node one step further, and says where it is.
func (p *pass) advance(n *node) {
	switch {
	case !n.exists():
		p.abandon(n)
	case n.back != nil:
		p.returning(n)
	case n.drain == nil:
		p.idle(n)
	case ended(n.drain):
		p.ended(n)
	case released(n.fors):
		p.wind(n)
	default:
		p.live(n)
	}
}

// at says where a node is for a maintenance.
func (p *pass) at(n *node, uid types.UID, phase slipwayv1alpha1.MaintenanceNodePhase, why reasoned, since time.Time) {
	m := p.byUID[uid]
	if m == nil {
		return
	}
	is := place{phase: phase, reasoned: why, since: since, drained: n.back != nil}
	if entry := entryOf(n.fors, uid); entry != nil && n.drain != nil {
		is.drained = is.drained || p.drainedFor(n, m, *entry)
		is.inStep = m.Spec.Rollout == nil && n.back == nil && reached(n.drain)
		if progress := n.drain.Status.Progress; progress != nil {
			is.pods = max(0, progress.Total-progress.Done)
		}
	}
	if entry := entryOf(n.fors, uid); entry != nil && p.givesWay(n, *entry) {
		is.reasoned = reasoned{slipwayv1alpha1.ReasonDeadlockHeldBack, rawRecord(n.Records, uid).Message}
	}
	if n.drain != nil && n.uncordoned() && phase != slipwayv1alpha1.NodeFailed {
		is.reasoned = reasoned{ReasonNodeUncordoned, uncordoned}
	}
	m.places[n.name] = is
}

// everywhere says the same for all that the node is out for. Who has recorded a failure
// stays with it.
func (p *pass) everywhere(n *node, phase slipwayv1alpha1.MaintenanceNodePhase, why reasoned, since time.Time) {
	for _, entry := range n.fors {
		if m := p.byUID[entry.UID]; m != nil && !p.failedPlace(n, m) {
			p.at(n, entry.UID, phase, why, since)
		}
	}
}

// failedPlace says that a node has failed, if it has.
func (p *pass) failedPlace(n *node, m *maintained) bool {
	r := n.recordOf(m)
	if r == nil || r.State != RecordFailed {
		return false
	}
	p.at(n, m.UID, slipwayv1alpha1.NodeFailed, reasoned{r.Reason, r.Message}, r.At)
	return true
}

// change writes an event, if anything of it has changed.
func (p *pass) change(seen, changed *lifecyclev1alpha1.LifecycleEvent) {
	if !equality.Semantic.DeepEqual(seen, changed) {
		p.do(ChangeEvent{Seen: seen, Changed: changed})
	}
}

// letGo takes our finalizer off an event whose outcome is recorded.
func (p *pass) letGo(e *lifecyclev1alpha1.LifecycleEvent) {
	changed := e.DeepCopy()
	changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool {
		return f == slipwayv1alpha1.MaintenanceEventFinalizer
	})
	p.change(e, changed)
}

// abandon is for the events of a Node that is gone. Who claimed them ends them.
func (p *pass) abandon(n *node) {
	for _, e := range []*lifecyclev1alpha1.LifecycleEvent{n.drain, n.back} {
		switch {
		case e == nil:
		case over(e):
			p.letGo(e)
		case !ended(e):
			p.do(DeleteEvent{Event: e})
		}
	}
}
