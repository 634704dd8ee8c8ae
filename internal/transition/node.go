// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"maps"
	"slices"
	"time"

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
	var changed []corev1.NodeCondition
	for _, want := range wanted(f, e) {
		if c, differs := stamped(f.Node, want, e.Status.ClaimStatus.Terminal(), now); differs {
			changed = append(changed, c)
		}
	}
	if len(changed) == 0 {
		return Decision{}
	}
	return do(MarkNode{Conditions: changed})
}

// wanted is what the event makes of the Node's conditions: its own, and those that
// its driver asked for.
func wanted(f Facts, e *lifecyclev1alpha1.LifecycleEvent) []corev1.NodeCondition {
	conditions := []corev1.NodeCondition{lifecycleCondition(e)}
	call := f.Calls[e.UID]
	if call.Answer == nil || check(call, e, f.NodeName) != nil {
		return conditions
	}
	for _, c := range call.Answer.NodeConditions {
		conditions = append(conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
			Reason: c.Reason, Message: shortened(c.Message),
		})
	}
	return conditions
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
	if e.Status.ClaimStatus.Terminal() && e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		c.Status = corev1.ConditionFalse
		c.Reason = finishedReason(e)
		if finished := condition(e, lifecyclev1alpha1.ConditionFinished); finished != nil && finished.Message != "" {
			c.Message += ": " + finished.Message
		}
	}
	return c
}

// stamped is want with its times set, and whether it must be written: the time of
// the transition changes only with the status; a mere change of the message waits,
// unless it is the last one.
func stamped(node *corev1.Node, want corev1.NodeCondition, last bool, now time.Time) (corev1.NodeCondition, bool) {
	want.LastHeartbeatTime = metav1.NewTime(now)
	want.LastTransitionTime = metav1.NewTime(now)
	for _, have := range node.Status.Conditions {
		if have.Type != want.Type {
			continue
		}
		if have.Status == want.Status {
			want.LastTransitionTime = have.LastTransitionTime
		}
		if have.Status != want.Status || have.Reason != want.Reason {
			return want, true
		}
		due := last || !now.Before(have.LastHeartbeatTime.Add(nodeMessageInterval))
		return want, have.Message != want.Message && due
	}
	return want, true
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
			decision = decision.or(waitUntil(at))
			continue
		}
		decision = decision.or(do(DeleteTransition{Transition: t}))
	}
	return decision
}
