// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// sweep deletes ended events. It removes the claim finalizer from events that ended without a claim: their creator has set
// it. An event that this agent has claimed is wound up first.
func sweep(f *Facts, events []*lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	decision := Decision{}
	for _, e := range events {
		over := e.Status.ClaimStatus.Terminal() || e.DeletionTimestamp != nil
		switch {
		case !over, !concerns(f, e), lifecycleevent.HasForeignClaim(e), kubeletClaims(f) && !ours(f, e):
		case protected(e) && e.Status.ClaimedBy == nil:
			decision = decision.Or(do(Unprotect{Event: e}))
		case !protected(e) && e.DeletionTimestamp == nil:
			decision = decision.Or(deleteAfterTTL(f, e, now))
		}
	}
	return decision
}

// deleteAfterTTL deletes an ended event after its time to live.
func deleteAfterTTL(f *Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if finished := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionFinished); finished != nil {
		if at := finished.LastTransitionTime.Add(f.FinishedEventTTL); now.Before(at) {
			return waitUntil(at)
		}
	}
	return do(Delete{Event: e})
}

// forgetDrain corrects the Node's conditions of a drain. Its event no longer exists: a person has removed the event's
// finalizer, or the CRD with all its objects. Or a person has uncordoned the drained node.
func forgetDrain(f *Facts, now time.Time) Decision {
	if f.Node == nil || f.Central != nil && !f.Central.Agentless {
		return Decision{}
	}
	begin := func(t corev1.NodeConditionType) string { return signature.FindString(nodeCondition(f.Node, t).Message) }
	switch uid := drainShown(f.Node); {
	case uid != "" && !slices.ContainsFunc(f.Events, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.UID == uid }):
		return writeConditions(f.Node, drainOver(
			corev1.ConditionUnknown, lifecyclev1alpha1.NodeReasonEventGone, begin(corev1.NodeDrainInProgress)+" no longer exists"), true, now)
	case returnedByOthers(f.Node) && inWork(f, f.Events) == nil:
		return writeConditions(f.Node, drainOver(
			corev1.ConditionFalse, lifecyclev1alpha1.NodeReasonNodeReturned, begin(corev1.NodeDrained)+": the node was uncordoned"), true, now)
	default:
		return Decision{}
	}
}

// forgetTransitions deletes the transitions of this node whose driver has been away for
// [DeregistrationTimeout], counted from the creation of the transition if that was later. Transitions of all nodes, or of
// a selector, stay: other nodes use them.
func forgetTransitions(f *Facts, now time.Time) Decision {
	decision := Decision{}
	if f.Central != nil {
		return decision // which drivers are on the node is for its agent to know
	}
	for _, name := range slices.Sorted(maps.Keys(f.Transitions)) {
		t := f.Transitions[name]
		if t.Spec.NodeName != f.NodeName || t.DeletionTimestamp != nil || lifecycleevent.RegisteredCentrally(t) {
			continue
		}
		driver := f.Drivers(t.Spec.Driver)
		if driver.Registered {
			continue
		}
		since := driver.MissingSince
		if created := t.CreationTimestamp.Time; since.Before(created) { // drivers publish before they register
			since = created
		}
		if at := since.Add(DeregistrationTimeout); now.Before(at) {
			decision = decision.Or(waitUntil(at))
			continue
		}
		decision = decision.Or(do(DeleteTransition{Transition: t}))
	}
	return decision
}
