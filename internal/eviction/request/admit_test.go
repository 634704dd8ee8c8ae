// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// admit is what the server holds a status to, in brief: the tests of localcluster replay
// the writes through the server's own validation.
func admit(before, after evictionv1alpha1.EvictionStatus, now time.Time) error {
	for _, c := range before.Conditions {
		if is := apimeta.FindStatusCondition(after.Conditions, c.Type); c.Status == metav1.ConditionTrue && (is == nil || is.Status != c.Status || is.Reason != c.Reason) {
			return fmt.Errorf("condition %s cannot be reverted", c.Type)
		}
	}
	if len(after.TargetResponders) != len(after.Responders) || len(before.TargetResponders) > 0 && len(before.TargetResponders) != len(after.TargetResponders) {
		return fmt.Errorf("responders cannot come or go")
	}
	active := 0
	for i, at := range inTurnOf(after.TargetResponders) {
		is := after.TargetResponders[at]
		was := evictionv1alpha1.ResponderStateInactive
		var old *evictionv1alpha1.ResponderStatus
		if len(before.TargetResponders) > 0 {
			was = before.TargetResponders[inTurnOf(before.TargetResponders)[i]].State
			old = statusOf(&before, is.Name)
		}
		if err := admitState(was, is, old, statusOf(&after, is.Name), final(after.Conditions), now); err != nil {
			return fmt.Errorf("%s: %w", is.Name, err)
		}
		if is.State == evictionv1alpha1.ResponderStateActive {
			active++
		}
	}
	switch {
	case active > 1:
		return fmt.Errorf("%d responders are active", active)
	case active == 1 && final(after.Conditions):
		return fmt.Errorf("it has ended with an active responder")
	}
	return nil
}

func admitState(was evictionv1alpha1.ResponderStateType, is evictionv1alpha1.TargetResponder, old, own *evictionv1alpha1.ResponderStatus, isFinal bool, now time.Time) error {
	const (
		inactive, active      = evictionv1alpha1.ResponderStateInactive, evictionv1alpha1.ResponderStateActive
		interrupted, canceled = evictionv1alpha1.ResponderStateInterrupted, evictionv1alpha1.ResponderStateCanceled
		completed             = evictionv1alpha1.ResponderStateCompleted
		slack                 = 30 * time.Second
	)
	allowed := map[evictionv1alpha1.ResponderStateType][]evictionv1alpha1.ResponderStateType{
		inactive:    {inactive, active},
		active:      {active, interrupted, canceled, completed},
		interrupted: {interrupted}, canceled: {canceled}, completed: {completed},
	}
	switch {
	case !slices.Contains(allowed[was], is.State):
		return fmt.Errorf("from %s to %s", was, is.State)
	case is.State == active && own.StartTime == nil:
		return fmt.Errorf("active without a start time")
	case is.State == completed && own.CompletionTime == nil:
		return fmt.Errorf("completed without a completion time")
	case was == active && is.State != active && own.CompletionTime == nil && !isFinal && now.Before(heartbeat(own, now).Add(HeartbeatDeadline-slack)):
		return fmt.Errorf("must stay active, it is in progress")
	case old != nil && is.State != active && (!old.CompletionTime.Equal(own.CompletionTime) || !old.HeartbeatTime.Equal(own.HeartbeatTime)):
		return fmt.Errorf("is not active, and cannot report")
	case old != nil && old.CompletionTime != nil && !old.CompletionTime.Equal(own.CompletionTime):
		return fmt.Errorf("completion time cannot change")
	}
	return nil
}
