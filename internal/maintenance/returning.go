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
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// wayBack returns the phase of a node that returns: a node that was not cordoned yet waits.
func (n *node) wayBack() slipwayv1alpha1.MaintenanceNodePhase {
	if n.untouched() {
		return slipwayv1alpha1.NodeWaiting
	}
	return slipwayv1alpha1.NodeReturning
}

// release is for a node that no maintenance needs. If its drain was of use, the drain ends, and a return follows;
// otherwise the next step cancels it, which uncordons the node.
func (p *plan) release(n *node) outcome {
	o := newOutcome()
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
	parameters := ParametersOf(n.drain)
	switch {
	case pending(n.drain): // an agent may still claim it before its deletion
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

// unneeded is for a released drain that has not ended. It cancels the drain if that is still held.
func (p *plan) unneeded(n *node) outcome {
	o := newOutcome()
	held := ParametersOf(n.drain).Hold
	if held && claimed(n.drain) && p.isBarred(n, n.refs, &o) {
		return o
	}
	if held {
		o.do(DeleteEvent{Event: n.drain})
	}
	o.everywhere(p.claims[n.name], n.wayBack(), cause{}, reachedAt(n.drain))
	return o
}

// drainEnded is for a drain that has ended, or is being deleted. The node has failed for the maintenances that still
// need it. If no maintenance does, its return follows.
func (p *plan) drainEnded(n *node) outcome {
	o := newOutcome()
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

// endOf returns the cause of the end of a drain or a return.
func endOf(e *lifecyclev1alpha1.LifecycleEvent) cause {
	finished := apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionFinished)
	switch {
	case e.Status.ClaimStatus == lifecyclev1alpha1.Succeeded:
		return cause{slipwayv1alpha1.ReasonDrainCanceled, fmt.Sprintf("a third party ended the drain: spec.parameters of LifecycleEvent %s do not hold it", e.Name)}
	case finished == nil && e.DeletionTimestamp != nil, finished != nil && finished.Reason == lifecyclev1alpha1.ReasonCanceled:
		return cause{slipwayv1alpha1.ReasonDrainCanceled, fmt.Sprintf("a third party deleted LifecycleEvent %s", e.Name)}
	case finished != nil:
		return cause{slipwayv1alpha1.ReasonDrainFailed, finished.Reason + ": " + finished.Message}
	default:
		return cause{slipwayv1alpha1.ReasonDrainFailed, string(e.Status.ClaimStatus)}
	}
}

// returning is for a node with an event of its return.
func (p *plan) returning(n *node) outcome {
	o := newOutcome()
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

// returnFailed records a failed return, and then releases its event.
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
		if len(n.CordonedFor) > 0 { // any event: a return undoes all cordons of Slipway
			failure.Cordon = n.CordonedFor[0]
		}
		o.records = append(o.records, failure)
	}
	if recorded {
		o.letGo(n.back)
	}
}

// returned waits until the node is healthy, or an administrator accepts it as unhealthy. Then it records the return,
// and releases the event.
func (p *plan) returned(n *node, o *outcome) {
	since := transitionOf(n.back, lifecyclev1alpha1.ConditionFinished)
	o.check = p.needsHealth(n)
	why := p.unhealthy(n)
	if by, accepted := n.back.Annotations[slipwayv1alpha1.UnhealthyAcceptedAnnotation]; accepted && why.reason != "" {
		why.message = fmt.Sprintf("accepted by %s: %s", by, why.message)
	} else if why.reason != "" {
		if n.Checked { // one pod must not stop a rollout
			why.message += fmt.Sprintf("; to accept the node as unhealthy: kubectl slipway done %s --accept-unhealthy", n.name)
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

// needsHealth reports whether a maintenance waits until the node is healthy. In stage Complete, no maintenance does.
func (p *plan) needsHealth(n *node) bool {
	return slices.ContainsFunc(p.claims[n.name], func(c claim) bool { return c.m != nil && c.m.works() })
}

// unhealthy returns the problem that keeps a node from having returned.
func (p *plan) unhealthy(n *node) cause {
	if !p.needsHealth(n) {
		return cause{}
	}
	cordonedBefore := apimeta.IsStatusConditionPresentAndEqual(n.back.Status.Conditions, lifecyclev1alpha1.ConditionSchedulable, metav1.ConditionFalse)
	pods := func(problem string, names []string) cause {
		return cause{slipwayv1alpha1.ReasonDaemonSetsUnready, fmt.Sprintf("pods of DaemonSets %s (%d): %s", problem, len(names), some(names))}
	}
	kept := p.keptFrom(n)
	switch {
	case !n.ready():
		return cause{slipwayv1alpha1.ReasonNodeNotReady, "the node is not Ready"}
	case n.Spec.Unschedulable && !cordonedBefore:
		return cause{slipwayv1alpha1.ReasonNodeCordoned, "a third party has cordoned the node after its return"}
	case !n.Checked:
		return cause{slipwayv1alpha1.ReasonDaemonSetsUnready, "the controller is reading the pods of its DaemonSets"}
	case p.facts.KeptAwayUnknown:
		return cause{slipwayv1alpha1.ReasonDaemonSetsUnready, "the controller is reading the pods of DaemonSets that the node kept away"}
	case len(kept) > 0:
		return pods("have yet to return", kept)
	case len(n.Unready) > 0:
		return pods("are not Ready", n.Unready)
	default:
		return cause{}
	}
}

// some lists a few names, in order.
func some(names []string) string { return reasons.Names(slices.Sorted(slices.Values(names)), 5) }
