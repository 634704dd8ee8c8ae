// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// markNode writes the Node's conditions that differ from the conditions of the event. They are output: no decision reads
// them.
func (w *work) markNode() Decision {
	if w.facts.Node == nil {
		return Decision{}
	}
	return writeConditions(w.facts.Node, w.wantedConditions(), w.event.Status.ClaimStatus.Terminal(), w.now)
}

// writeConditions writes the due conditions, or wakes at the first due time.
func writeConditions(node *corev1.Node, conditions []corev1.NodeCondition, last bool, now time.Time) Decision {
	decision := Decision{}
	var changed []corev1.NodeCondition
	for _, want := range conditions {
		c, due := stamped(node, want, last, now)
		switch {
		case due.IsZero():
		case due.After(now):
			decision = decision.Or(waitUntil(due))
		default:
			changed = append(changed, c)
		}
	}
	if len(changed) == 0 {
		return decision
	}
	return do(MarkNode{Conditions: changed})
}

// wantedConditions returns the Node's conditions for the event: the agent's own, and the driver's.
func (w *work) wantedConditions() []corev1.NodeCondition {
	e, node := w.event, w.facts.Node
	conditions := []corev1.NodeCondition{lifecycleCondition(e)}
	if w.call.Answer == nil || w.broken != nil {
		return append(conditions, concluded(node, e)...)
	}
	drainAsked := false
	for _, c := range w.answer.NodeConditions {
		want := corev1.NodeCondition{
			Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
			Reason: c.Reason, Message: shortened(c.Message),
		}
		if ofDrain(want.Type) {
			if endedOtherwise(e) || takenOver(node, want.Type, e) {
				continue
			}
			drainAsked, want.Message = true, signed(e, c.Message)
		}
		conditions = append(conditions, want)
	}
	if drainAsked {
		return conditions
	}
	return append(conditions, concluded(node, e)...)
}

// lifecycleCondition returns the condition of KEP-5683. Its reason is the state reached.
// For an event that ended without reaching its end it is False, with the reason of the event's end.
func lifecycleCondition(e *lifecyclev1alpha1.LifecycleEvent) corev1.NodeCondition {
	c := corev1.NodeCondition{
		Type:    lifecyclev1alpha1.NodeConditionLifecycleTransition,
		Status:  corev1.ConditionTrue,
		Reason:  e.Status.State,
		Message: fmt.Sprintf("Lifecycle Transition '%s'", e.Spec.TransitionName),
	}
	if left := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionSchedulable); left != nil && left.Status == metav1.ConditionFalse {
		c.Message += ": " + left.Message
	}
	if endedOtherwise(e) {
		c.Status = corev1.ConditionFalse
		c.Reason = finishedReason(e)
		if finished := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionFinished); finished != nil && finished.Message != "" {
			c.Message += ": " + finished.Message
		}
	}
	return c
}

// endedOtherwise returns whether the event has ended without reaching its end.
func endedOtherwise(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.ClaimStatus.Terminal() && e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded
}

// stamped returns want with its times, and when to write it: never, if that is zero. The
// transition time changes only with the status, or with the state that is the reason of
// condition LifecycleTransition: KEP-5683 counts the time in a state from it. A change of the message alone, or of the
// reason of a drain in progress, waits for [nodeMessageInterval], unless it is the last.
func stamped(node *corev1.Node, want corev1.NodeCondition, last bool, now time.Time) (_ corev1.NodeCondition, due time.Time) {
	want.LastHeartbeatTime = metav1.NewTime(now)
	want.LastTransitionTime = metav1.NewTime(now)
	have := nodeCondition(node, want.Type)
	if have == nil {
		return want, now
	}
	isState := want.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition
	if have.Status == want.Status && (!isState || have.Reason == want.Reason) {
		want.LastTransitionTime = have.LastTransitionTime
	}
	switch {
	case have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message:
		return want, time.Time{}
	case last, have.Status != want.Status, have.Reason != want.Reason && !sameDrain(*have, want):
		return want, now
	}
	if due := have.LastHeartbeatTime.Add(nodeMessageInterval); due.After(now) {
		return want, due
	}
	return want, now
}

func nodeCondition(node *corev1.Node, conditionType corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == conditionType {
			return c
		}
	}
	return nil
}

// Several writers share the Node's conditions of a drain: the agent for one event after
// another, people, kubectl. A message of the agent begins with the event and its UID. The
// latest writer is right: the agent leaves a condition alone that another one has written
// during an event, until that event ends.

// ofDrain returns whether the condition is about a drain.
func ofDrain(t corev1.NodeConditionType) bool {
	return t == corev1.NodeDrainInProgress || t == corev1.NodeDrained
}

// signature begins the messages that the agent writes.
var signature = regexp.MustCompile(`^event (\S+) \(UID ([^)]+)\)`)

// signed returns the message with the event before it.
func signed(e *lifecyclev1alpha1.LifecycleEvent, message string) string {
	text := fmt.Sprintf("event %s (UID %s)", e.Name, e.UID)
	if message != "" {
		text += ": " + message
	}
	return shortened(text)
}

// signer returns the UID of the event that the message begins with, or "".
func signer(message string) types.UID {
	if found := signature.FindStringSubmatch(message); found != nil {
		return types.UID(found[2])
	}
	return ""
}

// sameDrain returns whether the same event wrote both, about its drain.
func sameDrain(have, want corev1.NodeCondition) bool {
	return ofDrain(want.Type) && signer(want.Message) != "" && signer(have.Message) == signer(want.Message)
}

// takenOver returns whether another writer has set the condition since the claim, and the
// event has not reached its end.
func takenOver(node *corev1.Node, t corev1.NodeConditionType, e *lifecyclev1alpha1.LifecycleEvent) bool {
	have, claim := nodeCondition(node, t), lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionClaimable)
	if have == nil || claim == nil || signer(have.Message) != "" || reachedEnd(e) {
		return false
	}
	return have.LastHeartbeatTime.After(claim.LastTransitionTime.Time) || have.LastTransitionTime.After(claim.LastTransitionTime.Time)
}

// concluded returns the final conditions of a drain that the Node shows as in progress, or as
// complete and held, when its event has reached its end or has ended otherwise.
func concluded(node *corev1.Node, e *lifecyclev1alpha1.LifecycleEvent) []corev1.NodeCondition {
	inProgress := e.UID != "" && drainShown(node) == e.UID
	switch {
	case inProgress && reachedEnd(e):
		return drainOver(corev1.ConditionTrue, lifecyclev1alpha1.NodeReasonDrainCompleted, signed(e, ""))
	case endedOtherwise(e) && (inProgress || e.UID != "" && signerOf(node, corev1.NodeDrained) == e.UID):
		return drainOver(corev1.ConditionFalse, failureOf(e), signed(e, strings.TrimPrefix(lastKnown(e), "; ")))
	default:
		return nil
	}
}

// failureOf returns the Node's reason for a drain that has not reached its end.
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

// drainShown returns the UID of the event whose drain the Node shows as in progress, or "".
func drainShown(node *corev1.Node) types.UID { return signerOf(node, corev1.NodeDrainInProgress) }

// signerOf returns the UID of the event that has set the condition to True, or "".
func signerOf(node *corev1.Node, t corev1.NodeConditionType) types.UID {
	have := nodeCondition(node, t)
	if have == nil || have.Status != corev1.ConditionTrue {
		return ""
	}
	return signer(have.Message)
}

// returnedByOthers returns whether the Node is schedulable, and shows that an event has drained it.
func returnedByOthers(node *corev1.Node) bool {
	return !node.Spec.Unschedulable && signerOf(node, corev1.NodeDrained) != ""
}

// DrainShown returns whether the Node shows the drain of an event as in progress, or as complete
// although the node is schedulable.
func DrainShown(node *corev1.Node) bool { return drainShown(node) != "" || returnedByOthers(node) }
