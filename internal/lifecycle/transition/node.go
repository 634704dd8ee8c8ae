// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// markNode sets the conditions of the Node that differ from what the event makes of
// them. They are output: nothing is read from them.
func markNode(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if f.Node == nil {
		return Decision{}
	}
	return set(f.Node, wanted(f, e), e.Status.ClaimStatus.Terminal(), now)
}

// set is a step that writes those of the conditions that are due, or the time at which
// the first of them will be.
func set(node *corev1.Node, conditions []corev1.NodeCondition, last bool, now time.Time) Decision {
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

// wanted is what the event makes of the Node's conditions: its own, and those that
// its driver asked for.
func wanted(f Facts, e *lifecyclev1alpha1.LifecycleEvent) []corev1.NodeCondition {
	conditions := []corev1.NodeCondition{lifecycleCondition(e)}
	call := f.Calls[e.UID]
	if call.Answer == nil || check(call, e, f.NodeName) != nil {
		return append(conditions, concluded(f.Node, e)...)
	}
	asked := false // of the drain
	for _, c := range call.Answer.NodeConditions {
		want := corev1.NodeCondition{
			Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
			Reason: c.Reason, Message: shortened(c.Message),
		}
		if isDrains(want.Type) {
			if endedOtherwise(e) || takenOver(f.Node, want.Type, e) {
				continue
			}
			asked, want.Message = true, signed(e, c.Message)
		}
		conditions = append(conditions, want)
	}
	if asked {
		return conditions
	}
	return append(conditions, concluded(f.Node, e)...)
}

// lifecycleCondition is the condition of KEP-5683: its reason is the state reached.
// Where an event ended without reaching its end, the condition is False, and its
// reason says how it ended.
func lifecycleCondition(e *lifecyclev1alpha1.LifecycleEvent) corev1.NodeCondition {
	c := corev1.NodeCondition{
		Type:    lifecyclev1alpha1.NodeConditionLifecycleTransition,
		Status:  corev1.ConditionTrue,
		Reason:  e.Status.State,
		Message: fmt.Sprintf("Lifecycle Transition '%s'", e.Spec.TransitionName),
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

// endedOtherwise says whether the event has ended without reaching its end.
func endedOtherwise(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.ClaimStatus.Terminal() && e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded
}

// stamped is want with its times set, and when it must be written; never, if that is
// zero. The time of the transition changes only with the status. Where only the message
// differs, or of a drain that goes on only the reason, that waits, unless it is the last.
func stamped(node *corev1.Node, want corev1.NodeCondition, last bool, now time.Time) (_ corev1.NodeCondition, due time.Time) {
	want.LastHeartbeatTime = metav1.NewTime(now)
	want.LastTransitionTime = metav1.NewTime(now)
	have := nodeCondition(node, want.Type)
	if have == nil {
		return want, now
	}
	if have.Status == want.Status {
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

// forgetTransitions deletes the transitions of this node whose driver has been away
// for too long. Those of all nodes, or of a selector, stay: other nodes use them.
func forgetTransitions(f Facts, now time.Time) Decision {
	decision := Decision{}
	if f.Claimer.Kind != lifecyclev1alpha1.NodeAgent {
		return decision // which drivers are on the node is for its agent to know
	}
	for _, name := range slices.Sorted(maps.Keys(f.Transitions)) {
		t := f.Transitions[name]
		if t.Spec.NodeName != f.NodeName || t.DeletionTimestamp != nil {
			continue
		}
		driver := f.Drivers(t.Spec.Driver)
		if driver.Registered {
			continue
		}
		if at := driver.MissingSince.Add(DeregistrationTimeout); now.Before(at) {
			decision = decision.Or(waitUntil(at))
			continue
		}
		decision = decision.Or(do(DeleteTransition{Transition: t}))
	}
	return decision
}
