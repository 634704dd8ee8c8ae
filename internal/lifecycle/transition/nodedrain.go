// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// The Node's conditions of a drain may be written by several: by us for one event after
// another, by people, by kubectl. Those that we write begin with the event that they are
// of, and its UID. The latest writer is right: one that is written by somebody else while
// an event goes on is left alone until that event ends.

// isDrains says whether it is a condition of a drain.
func isDrains(t corev1.NodeConditionType) bool {
	return t == corev1.NodeDrainInProgress || t == corev1.NodeDrained
}

// signature is how the messages begin that we write.
var signature = regexp.MustCompile(`^event (\S+) \(UID ([^)]+)\)`)

// signed is a message with the event that it is of.
func signed(e *lifecyclev1alpha1.LifecycleEvent, message string) string {
	text := fmt.Sprintf("event %s (UID %s)", e.Name, e.UID)
	if message != "" {
		text += ": " + message
	}
	return shortened(text)
}

// signer is the event that wrote the message; empty, if none of ours did.
func signer(message string) types.UID {
	if found := signature.FindStringSubmatch(message); found != nil {
		return types.UID(found[2])
	}
	return ""
}

// sameDrain says whether both are of one drain, and by the same event.
func sameDrain(have, want corev1.NodeCondition) bool {
	return isDrains(want.Type) && signer(want.Message) != "" && signer(have.Message) == signer(want.Message)
}

// takenOver says whether somebody else has written the condition since the event was
// claimed, and the event has not reached its end.
func takenOver(node *corev1.Node, t corev1.NodeConditionType, e *lifecyclev1alpha1.LifecycleEvent) bool {
	have, claim := nodeCondition(node, t), lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionClaimable)
	if have == nil || claim == nil || signer(have.Message) != "" || reachedEnd(e) {
		return false
	}
	return have.LastHeartbeatTime.After(claim.LastTransitionTime.Time) || have.LastTransitionTime.After(claim.LastTransitionTime.Time)
}

func reachedEnd(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.State != "" && e.Status.State == driverOf(e).End
}

// concluded is what becomes of a drain that the Node shows as going on, when its event
// has reached its end, or has ended otherwise.
func concluded(node *corev1.Node, e *lifecyclev1alpha1.LifecycleEvent) []corev1.NodeCondition {
	if drainShown(node) != e.UID || e.UID == "" {
		return nil
	}
	switch {
	case reachedEnd(e):
		return drainOver(corev1.ConditionTrue, lifecyclev1alpha1.NodeReasonDrainCompleted, signed(e, ""))
	case endedOtherwise(e):
		return drainOver(corev1.ConditionFalse, failureOf(e), signed(e, strings.TrimPrefix(lastKnown(e), "; ")))
	default:
		return nil
	}
}

// failureOf is why the drain has not reached its end, in the words of the Node.
func failureOf(e *lifecyclev1alpha1.LifecycleEvent) string {
	if reason := finishedReason(e); reason == lifecyclev1alpha1.ReasonSLAExpired || reason == lifecyclev1alpha1.ReasonCanceled {
		return reason
	}
	return lifecyclev1alpha1.NodeReasonDrainFailed
}

func drainOver(drained corev1.ConditionStatus, reason, message string) []corev1.NodeCondition {
	return []corev1.NodeCondition{
		{Type: corev1.NodeDrainInProgress, Status: corev1.ConditionFalse, Reason: reason, Message: message},
		{Type: corev1.NodeDrained, Status: drained, Reason: reason, Message: message},
	}
}

// drainShown is the event of ours for which the Node says that it is being drained;
// empty, if there is none.
func drainShown(node *corev1.Node) types.UID {
	have := nodeCondition(node, corev1.NodeDrainInProgress)
	if have == nil || have.Status != corev1.ConditionTrue {
		return ""
	}
	return signer(have.Message)
}

// DrainShown says whether the Node says that one of our events drains it.
func DrainShown(node *corev1.Node) bool { return drainShown(node) != "" }

// forgetDrain ends, on the Node, the drain of an event that is gone: somebody took off
// its finalizer, or removed the API and all that was in it.
func forgetDrain(f Facts, now time.Time) Decision {
	if f.Node == nil {
		return Decision{}
	}
	uid := drainShown(f.Node)
	if uid == "" || slices.ContainsFunc(f.Events, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.UID == uid }) {
		return Decision{}
	}
	begin := signature.FindString(nodeCondition(f.Node, corev1.NodeDrainInProgress).Message)
	return set(f.Node, drainOver(corev1.ConditionFalse, lifecyclev1alpha1.NodeReasonEventGone, begin+" is gone"), true, now)
}
