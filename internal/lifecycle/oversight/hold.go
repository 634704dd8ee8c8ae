// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// An event that takes the node out of service gets a finalizer together with the removal of its gate, and then a NodeHold.
// The finalizer lasts until its end is known: then the hold is released, or outlives the event. The finalizer comes first,
// so the controller always sees the end of an event with a hold.

// holds returns whether the event takes the node out of service for an actor. A shutdown has no hold: its boot ends it.
func holds(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	return !shutdown.Is(e) && !lifecycleevent.ReturnsNode(e, f.Transitions)
}

func hasHoldFinalizer(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return slices.Contains(e.Finalizers, lifecyclev1alpha1.HoldFinalizer)
}

// eventOf returns the event of a hold, or nil if it no longer exists.
func eventOf(f Facts, h *hold.Hold) *lifecyclev1alpha1.LifecycleEvent {
	if i := slices.IndexFunc(f.OfNode, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.UID == h.Spec.EventUID }); i >= 0 {
		return f.OfNode[i]
	}
	return nil
}

// inWork returns whether the event of a hold has not ended, or its end is not settled: then a hold that is released would be taken
// again.
func inWork(f Facts, h *hold.Hold) bool {
	of := eventOf(f, h)
	return of != nil && (!of.Status.ClaimStatus.Terminal() || hasHoldFinalizer(of))
}

// holdOf returns the hold of an event, or nil.
func holdOf(f Facts, e *lifecyclev1alpha1.LifecycleEvent) *hold.Hold {
	if i := slices.IndexFunc(f.Holds, func(h *hold.Hold) bool { return h.Spec.EventUID == e.UID }); i >= 0 {
		return f.Holds[i]
	}
	return nil
}

// takeHold creates the hold of an event that the guards have let pass. Without guards there are no holds: the return of
// the node would not wait for their release.
func takeHold(f Facts, e *lifecyclev1alpha1.LifecycleEvent) Decision {
	if f.Node == nil || !hasHoldFinalizer(e) || !holds(f, e) || holdOf(f, e) != nil {
		return Decision{}
	}
	return do(TakeHold{Event: e, Hold: hold.New(f.Node, e)})
}

// settleHold decides about the hold of an event that has ended, or that was deleted before its claim. The hold of a node
// that stays out of service outlives its event.
func settleHold(f Facts, e *lifecyclev1alpha1.LifecycleEvent) Decision {
	if !hasHoldFinalizer(e) {
		return Decision{}
	}
	if lifecycleevent.ReturnsNode(e, f.Transitions) { // only an event that breaks the glass has the finalizer
		return breakHolds(f, e).Or(do(UnprotectHold{Event: e}))
	}
	h := holdOf(f, e)
	if staysOut(f, e) {
		return takeHold(f, e).Or(do(UnprotectHold{Event: e}))
	}
	if h != nil {
		return do(ReleaseHold{Event: e, Hold: h})
	}
	return do(UnprotectHold{Event: e})
}

// breakHolds releases all holds of a node that has returned past them. The holds of events in work stay.
func breakHolds(f Facts, e *lifecyclev1alpha1.LifecycleEvent) Decision {
	if e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		return Decision{}
	}
	for _, h := range f.Holds {
		if !inWork(f, h) {
			return do(ReleaseHold{Event: e, Hold: h, Notice: releaseNotice(h, e)})
		}
	}
	return Decision{}
}

// staysOut returns whether an ended event leaves its node out of service: a drain stays cordoned, unless it was canceled, or
// failed before its cordon. Slipway does not know the work of a third-party claimer.
func staysOut(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	if f.Node != nil && !f.Node.Spec.Unschedulable && e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		return false
	}
	return e.Status.ClaimStatus.Terminal() && e.Status.ClaimedBy != nil && !lifecycleevent.HasForeignClaim(e) && e.Status.Driver != nil &&
		lifecyclev1alpha1.IsState(e.Status.Driver.End, lifecyclev1alpha1.StateDrainComplete) &&
		reasonOf(e, lifecyclev1alpha1.ConditionFinished) != lifecyclev1alpha1.ReasonCanceled
}

// giveBack releases the holds of the actor that returns the node, and lets the event pass if no hold is left. The hold of
// an event in work stays until that event ends.
func giveBack(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	var others []*hold.Hold
	var awaited *hold.Hold
	for _, h := range f.Holds {
		released, inWork := hold.ReleasedBy(h, e), inWork(f, h)
		switch {
		case released && !inWork:
			return do(ReleaseHold{Event: e, Hold: h, Notice: releaseNotice(h, e)})
		case !released, h.Spec.Maintenance != "" && !hold.OfMaintenance(e): // a maintenance ends its work only by itself
			others = append(others, h)
		default:
			awaited = h
		}
	}
	switch {
	case len(others) > 0:
		return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonHeldByOthers, reasons.Advised(
			lifecyclev1alpha1.ConditionFinished, lifecyclev1alpha1.ReasonHeldByOthers,
			fmt.Sprintf("node %q stays out of service: it is held by %s", f.NodeName, hold.Text(others))), now)
	case awaited != nil:
		return note(e, lifecyclev1alpha1.ConditionGuardsPassed, metav1.ConditionFalse, lifecyclev1alpha1.ReasonWaitingForTurn,
			fmt.Sprintf("LifecycleEvent %q comes first", awaited.Spec.EventName), now)
	default:
		return note(e, lifecyclev1alpha1.ConditionGuardsPassed, metav1.ConditionTrue, lifecyclev1alpha1.ReasonPassed, "", now).
			Or(do(RemoveGate{Event: e}))
	}
}

// releaseNotice informs the holder about the return of its node by another actor. It is empty for the holder's own return.
func releaseNotice(h *hold.Hold, e *lifecyclev1alpha1.LifecycleEvent) string {
	own := h.Spec.Maintenance == "" && (h.Spec.User == "" || h.Spec.User == e.Spec.RequestedBy && h.Spec.Actor == e.Spec.Actor)
	if own || hold.OfMaintenance(e) {
		return ""
	}
	return fmt.Sprintf("user %q returns the node: it is no longer held by %s", e.Spec.RequestedBy, hold.Text([]*hold.Hold{h}))
}

// dropHold releases the hold of a user whose drain has ended, after a person has uncordoned the node with kubectl.
func dropHold(f Facts) Decision {
	if f.Node == nil || f.Node.Spec.Unschedulable || f.Node.Annotations[hold.UncordonedBy] == "" {
		return Decision{}
	}
	for _, h := range f.Holds {
		if h.Spec.Maintenance == "" && eventOf(f, h) == nil {
			return do(ReleaseHold{Hold: h, Notice: fmt.Sprintf("user %q has uncordoned the node with kubectl: it is no longer held by %s",
				f.Node.Annotations[hold.UncordonedBy], hold.Text([]*hold.Hold{h}))})
		}
	}
	return Decision{}
}

// showHolders shows the users that hold the node on its Node. Slipway decides nothing by that annotation.
func showHolders(f Facts) Decision {
	if f.Node == nil {
		return Decision{}
	}
	text := hold.Text(hold.ByUsers(f.Holds)[f.NodeName])
	if f.Node.Annotations[hold.HeldBy] == text {
		return Decision{}
	}
	return do(ShowHolders{Text: text})
}

// markOverdue labels the holds that are past their expected end.
func markOverdue(f Facts, now time.Time) Decision {
	decision := Decision{}
	for _, h := range f.Holds {
		_, marked := h.Labels[slipwayv1alpha1.OverdueLabel]
		overdue := h.Spec.Until != nil && !now.Before(h.Spec.Until.Time)
		switch {
		case overdue != marked:
			return do(MarkOverdue{Hold: h, Overdue: overdue})
		case h.Spec.Until != nil && !overdue:
			decision = decision.Or(waitUntil(h.Spec.Until.Time))
		}
	}
	return decision
}

// heldBack returns the reason for which an event of a user waits while a maintenance has the node, and an event of a
// maintenance while a user has it: both may work on the machine. It also limits the holds of a node.
func heldBack(f Facts, e *lifecyclev1alpha1.LifecycleEvent) (reason, message string) {
	if !holds(f, e) {
		return "", ""
	}
	var others []*hold.Hold
	for _, h := range f.Holds {
		if (h.Spec.Maintenance != "") != hold.OfMaintenance(e) && !takesOver(f, e, h) {
			others = append(others, h)
		}
	}
	switch passed := passedBefore(f, e); {
	case len(others) > 0:
		return lifecyclev1alpha1.ReasonHeldByAnother, fmt.Sprintf("node %q is held by %s", f.NodeName, hold.Text(others))
	case passed != nil:
		return lifecyclev1alpha1.ReasonHeldByAnother, fmt.Sprintf("LifecycleEvent %q comes first", passed.Name)
	case len(f.Holds) >= hold.MaxOnNode:
		return lifecyclev1alpha1.ReasonTooManyHolds, fmt.Sprintf("node %q has %d holds, the limit", f.NodeName, len(f.Holds))
	default:
		return "", ""
	}
}

// takesOver returns whether the event releases the hold of a user when it passes. While that user's drain is in progress, it
// waits.
func takesOver(f Facts, e *lifecyclev1alpha1.LifecycleEvent, h *hold.Hold) bool {
	return h.Spec.Maintenance == "" && hold.TakesOver(e) && !inWork(f, h)
}

// takeOver releases the holds of users for a maintenance that takes the node over.
func takeOver(f Facts, e *lifecyclev1alpha1.LifecycleEvent) Decision {
	for _, h := range f.Holds {
		if takesOver(f, e, h) {
			return do(ReleaseHold{Event: e, Hold: h, Notice: fmt.Sprintf("LifecycleEvent %q (%s) takes the node over: it is no longer held by %s",
				e.Name, e.Spec.Reason, hold.Text([]*hold.Hold{h}))})
		}
	}
	return Decision{}
}

// passedBefore returns an event that comes first: an event of the other side that has passed the guards and has no hold yet,
// or the return of the node.
func passedBefore(f Facts, e *lifecyclev1alpha1.LifecycleEvent) *lifecyclev1alpha1.LifecycleEvent {
	for _, other := range f.OfNode {
		ends := other.Status.ClaimStatus.Terminal() || other.DeletionTimestamp != nil
		if other.UID == e.UID || ends || lifecycleevent.HasForeignClaim(other) {
			continue
		}
		returns := lifecycleevent.ReturnsNode(other, f.Transitions) && (len(other.Spec.Gates) == 0 || len(other.Spec.Gates) == 1 && Guarded(other))
		if returns || hasHoldFinalizer(other) && hold.OfMaintenance(other) != hold.OfMaintenance(e) {
			return other
		}
	}
	return nil
}
