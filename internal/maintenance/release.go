// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// release has a node that nobody needs any more go back. If its drain has been of use, it
// ends, and a return follows; else it is canceled, which undoes its cordon.
func (p *pass) release(n *node) {
	changed := n.drain.DeepCopy()
	fors := slices.Clone(n.fors)
	useful := claimed(n.drain) && reached(n.drain) && targetsOf(n.drain) != nil
	for i, entry := range fors {
		fors[i].Released = true
		if m := p.byUID[entry.UID]; m != nil {
			if _, failed := p.completing(n, m, entry); failed != nil {
				p.fail(n, m, notOpened(failed))
			}
		}
		useful = useful || p.standingOf(n, entry) == done
	}
	setFors(changed, fors)
	if useful && claimed(n.drain) {
		parameters := parametersOf(n.drain)
		parameters.Hold = false
		setParameters(changed, parameters)
	}
	if pending(n.drain) {
		setParameters(changed, nothingLeaves(parametersOf(n.drain)))
	}
	p.change(n.drain, changed)
	p.everywhere(n, n.wayBack(), reasoned{}, time.Time{})
}

// wind is for a drain that nobody needs any more.
func (p *pass) wind(n *node) {
	if claimed(n.drain) && parametersOf(n.drain).Hold && p.awaitsLease(n, n.fors) {
		return
	}
	if parametersOf(n.drain).Hold {
		p.do(DeleteEvent{Event: n.drain})
	}
	p.everywhere(n, n.wayBack(), reasoned{}, reachedAt(n.drain))
}

// ended is for a drain that has ended, or been deleted. If somebody still needed the node
// out, it has failed for them.
func (p *pass) ended(n *node) {
	needed, recorded := false, true
	why := endOf(n.drain)
	p.everywhere(n, n.wayBack(), reasoned{}, time.Time{})
	for _, entry := range n.fors {
		m := p.byUID[entry.UID]
		if m == nil || entry.Released || p.standingOf(n, entry) != needs || !m.works() {
			continue
		}
		needed = true
		if r := rawRecord(n.Records, m.UID); r == nil || r.State != RecordFailed || r.Event != n.drain.UID {
			recorded = false
			p.fail(n, m, why)
			p.at(n, m.UID, slipwayv1alpha1.NodeFailed, why, time.Time{})
		}
	}
	switch {
	case !over(n.drain) || !recorded:
	case !needed && (n.drain.Status.ClaimStatus == lifecyclev1alpha1.Succeeded || n.cordonLeft()):
		p.putBack(n, n.fors)
	default:
		p.letGo(n.drain)
	}
}

// cordonLeft says whether the node is still cordoned for a drain that has ended.
func (n *node) cordonLeft() bool {
	return slices.Contains(n.CordonedFor, n.drain.UID) || slices.ContainsFunc(n.Records, n.cordonedFor)
}

// endOf is why a drain is no more.
func endOf(e *lifecyclev1alpha1.LifecycleEvent) reasoned {
	if e.Status.ClaimStatus == lifecyclev1alpha1.Succeeded {
		return reasoned{slipwayv1alpha1.ReasonDrainCanceled, fmt.Sprintf("somebody ended the drain: spec.parameters of LifecycleEvent %s do not hold it any more", e.Name)}
	}
	reason, message := slipwayv1alpha1.ReasonDrainFailed, string(e.Status.ClaimStatus)
	finished := apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionFinished)
	if finished != nil {
		message = finished.Reason + ": " + finished.Message
	}
	if finished == nil && e.DeletionTimestamp != nil || finished != nil && finished.Reason == lifecyclev1alpha1.ReasonCanceled {
		reason, message = slipwayv1alpha1.ReasonDrainCanceled, fmt.Sprintf("somebody deleted LifecycleEvent %s", e.Name)
	}
	return reasoned{reason, message}
}

// putBack asks for the return of a node. What is left of an earlier one goes first.
func (p *pass) putBack(n *node, fors []For) {
	if !p.awaitsLease(n, fors) && p.clear(n, ReturnName(n.name)) {
		p.do(CreateEvent{Event: newEvent(ReturnName(n.name), LabelReturn, lifecycleevent.ReturnTransition, n.name, fors)})
	}
}

// takeOut asks for the drain of a node.
func (p *pass) takeOut(n *node) {
	if !p.clear(n, DrainName(n.name)) {
		return
	}
	first := p.byUID[n.begin[0].UID]
	e := newDrain(n.name, n.begin, p.parameters(n, nil))
	if p.hooked(n) {
		e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: slipwayv1alpha1.MaintenanceGate})
	}
	if p.facts.Leases { // also where no policy does: before Kubernetes 1.36, and as long as it is not in force
		e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: lifecyclev1alpha1.GateLease})
	}
	allow(e, p.allowed(n, n.begin))
	e.Spec.Reason = reasonOf(first)
	e.Spec.RequestedBy = first.Spec.RequestedBy
	p.do(CreateEvent{Event: e})
}

func reasonOf(m *maintained) string {
	text := "maintenance " + m.Name
	if m.Spec.Reason != "" {
		text += ": " + m.Spec.Reason
	}
	return reasons.Shorten(text, maxReason)
}

// maxReason is what spec.reason of an event can hold.
const maxReason = 1024

// clear says whether a name is free. What is kept of an event that has ended is deleted.
func (p *pass) clear(n *node, name string) bool {
	for _, e := range n.leftover {
		if e.Name != name {
			continue
		}
		if e.DeletionTimestamp == nil {
			p.do(DeleteEvent{Event: e})
		}
		return false
	}
	return true
}
