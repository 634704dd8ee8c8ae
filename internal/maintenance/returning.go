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
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// wayBack returns the phase of a node that goes back: one that was not cordoned yet waits.
func (n *node) wayBack() slipwayv1alpha1.MaintenanceNodePhase {
	if n.untouched() {
		return slipwayv1alpha1.NodeWaiting
	}
	return slipwayv1alpha1.NodeReturning
}

// release is for a node that no maintenance needs any more. If its drain has been of use, the drain
// ends, and a return follows; else it is canceled in the next step, which undoes its cordon.
func (p *plan) release(n *node) (o outcome) {
	changed := n.drain.DeepCopy()
	refs := slices.Clone(n.refs)
	useful := claimed(n.drain) && reached(n.drain) && targetsOf(n.drain) != nil
	for i, c := range p.claims[n.name] {
		refs[i].Released = true
		if c.late != nil {
			o.records = append(o.records, n.failure(c.m, notOpened(c.late)))
		}
		useful = useful || c.want == done
	}
	setRefs(changed, refs)
	parameters := parametersOf(n.drain)
	switch {
	case pending(n.drain): // an agent may still claim it until it is deleted
		parameters.Targets = drainplan.NoPods()
		setParameters(changed, parameters)
	case useful && claimed(n.drain):
		parameters.Hold = false
		setParameters(changed, parameters)
	}
	o.change(n.drain, changed)
	o.everywhere(p.claims[n.name], n.wayBack(), cause{}, time.Time{})
	return o
}

// unneeded is for a released drain that has not ended. If it is held still, it is canceled.
func (p *plan) unneeded(n *node) (o outcome) {
	held := parametersOf(n.drain).Hold
	if held && claimed(n.drain) && p.awaitsLease(n, n.refs, &o) {
		return o
	}
	if held {
		o.do(DeleteEvent{Event: n.drain})
	}
	o.everywhere(p.claims[n.name], n.wayBack(), cause{}, reachedAt(n.drain))
	return o
}

// drainEnded is for a drain that has ended, or is being deleted. The node has failed for the
// maintenances that still need it out; if there are none, its return follows.
func (p *plan) drainEnded(n *node) (o outcome) {
	needed, recorded := false, true
	why := endOf(n.drain)
	o.everywhere(p.claims[n.name], n.wayBack(), cause{}, time.Time{})
	for _, c := range p.claims[n.name] {
		if c.m == nil || c.Released || c.want != needs || !c.m.works() {
			continue
		}
		needed = true
		if r := rawRecord(n.Records, c.UID); r == nil || r.State != RecordFailed || r.Event != n.drain.UID {
			recorded = false
			o.records = append(o.records, n.failure(c.m, why))
			o.at(c.UID, slipwayv1alpha1.NodeFailed, why, time.Time{})
		}
	}
	cordoned := slices.Contains(n.CordonedFor, n.drain.UID) || slices.ContainsFunc(n.Records, n.cordonedFor)
	switch {
	case !over(n.drain) || !recorded:
	case !needed && (n.drain.Status.ClaimStatus == lifecyclev1alpha1.Succeeded || cordoned):
		p.putBack(n, n.refs, &o)
	default:
		o.letGo(n.drain)
	}
	return o
}

// endOf returns why a drain or a return has ended.
func endOf(e *lifecyclev1alpha1.LifecycleEvent) cause {
	if e.Status.ClaimStatus == lifecyclev1alpha1.Succeeded {
		return cause{slipwayv1alpha1.ReasonDrainCanceled, fmt.Sprintf("somebody ended the drain: spec.parameters of LifecycleEvent %s do not hold it any more", e.Name)}
	}
	why := cause{slipwayv1alpha1.ReasonDrainFailed, string(e.Status.ClaimStatus)}
	finished := apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionFinished)
	if finished != nil {
		why.message = finished.Reason + ": " + finished.Message
	}
	if finished == nil && e.DeletionTimestamp != nil || finished != nil && finished.Reason == lifecyclev1alpha1.ReasonCanceled {
		return cause{slipwayv1alpha1.ReasonDrainCanceled, fmt.Sprintf("somebody deleted LifecycleEvent %s", e.Name)}
	}
	return why
}

// returning is for a node whose return was asked for.
func (p *plan) returning(n *node) (o outcome) {
	if n.drain != nil && ended(n.drain) {
		o.letGo(n.drain)
	}
	switch {
	case !over(n.back):
		why := cause{}
		if pending(n.back) {
			why = notClaimed(n.back)
		}
		o.everywhere(p.claims[n.name], slipwayv1alpha1.NodeReturning, why, n.back.CreationTimestamp.Time)
	case n.back.Status.ClaimStatus != lifecyclev1alpha1.Succeeded:
		p.returnFailed(n, &o)
	default:
		p.returned(n, &o)
	}
	return o
}

// returnFailed records that a return has failed, and then releases its event.
func (p *plan) returnFailed(n *node, o *outcome) {
	why := endOf(n.back)
	why.reason = slipwayv1alpha1.ReasonReturnFailed
	recorded := true
	for _, c := range p.claims[n.name] {
		if c.m == nil {
			continue
		}
		o.at(c.UID, slipwayv1alpha1.NodeFailed, why, time.Time{})
		if r := rawRecord(n.Records, c.UID); r != nil && r.Event == n.back.UID {
			continue
		}
		recorded = false
		failure := n.failure(c.m, why)
		failure.Event, failure.Cordon = n.back.UID, ""
		if len(n.CordonedFor) > 0 { // any of ours: a return undoes them all
			failure.Cordon = n.CordonedFor[0]
		}
		o.records = append(o.records, failure)
	}
	if recorded {
		o.letGo(n.back)
	}
}

// returned waits until the node is healthy, or somebody accepts it as it is. Then it records that
// the node is back, and releases its event.
func (p *plan) returned(n *node, o *outcome) {
	since := transitionOf(n.back, lifecyclev1alpha1.ConditionFinished)
	o.check = p.needsHealth(n)
	why := p.unhealthy(n)
	if by, accepted := n.back.Annotations[slipwayv1alpha1.UnhealthyAcceptedAnnotation]; accepted && why.reason != "" {
		why.message = fmt.Sprintf("accepted by %s: %s", by, why.message)
	} else if why.reason != "" {
		if n.Checked { // one team's pod must not hold up a fleet for ever
			why.message += fmt.Sprintf("; if it is to count as back all the same: kubectl slipway done %s --accept-unhealthy", n.name)
		}
		o.everywhere(p.claims[n.name], slipwayv1alpha1.NodeUnhealthy, why, since)
		return
	}
	recorded := true
	for _, c := range p.claims[n.name] {
		if c.m == nil || c.m.DeletionTimestamp != nil {
			continue
		}
		if c.record != nil && c.record.State == RecordDone || c.record == nil && c.m.returns() {
			recorded = false
			o.records = append(o.records, Record{UID: c.UID, State: RecordReturned, Retry: c.m.Spec.Retry, Reason: why.reason, Message: why.message})
		}
	}
	o.everywhere(p.claims[n.name], slipwayv1alpha1.NodeReturning, cause{}, since)
	if recorded {
		o.letGo(n.back)
	}
}

// needsHealth reports whether a maintenance waits until the node is healthy. In stage Complete,
// none does.
func (p *plan) needsHealth(n *node) bool {
	return slices.ContainsFunc(p.claims[n.name], func(c claim) bool { return c.m != nil && c.m.works() })
}

// unhealthy returns why a node that has returned does not count as back yet.
func (p *plan) unhealthy(n *node) cause {
	if !p.needsHealth(n) {
		return cause{}
	}
	// The return found a cordon that was there before ours, and left it.
	cordonedBefore := apimeta.IsStatusConditionPresentAndEqual(n.back.Status.Conditions, lifecyclev1alpha1.ConditionSchedulable, metav1.ConditionFalse)
	kept := p.keptFrom(n)
	switch {
	case !n.ready():
		return cause{slipwayv1alpha1.ReasonNodeNotReady, "the node is not Ready"}
	case n.Spec.Unschedulable && !cordonedBefore:
		return cause{slipwayv1alpha1.ReasonNodeCordoned, "the node was cordoned by somebody else after its return"}
	case !n.Checked:
		return cause{slipwayv1alpha1.ReasonDaemonSetsUnready, "the pods of its DaemonSets are looked at"}
	case p.facts.KeptAwayUnknown:
		return cause{slipwayv1alpha1.ReasonDaemonSetsUnready, "the pods of its DaemonSets that were kept away are looked at"}
	case len(kept) > 0:
		return cause{slipwayv1alpha1.ReasonDaemonSetsUnready, fmt.Sprintf("%d pods of DaemonSets are on their way back: %s", len(kept), some(kept))}
	case len(n.Unready) > 0:
		return cause{slipwayv1alpha1.ReasonDaemonSetsUnready, fmt.Sprintf("%d pods of DaemonSets are not Ready: %s", len(n.Unready), some(n.Unready))}
	default:
		return cause{}
	}
}
