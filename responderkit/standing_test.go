// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"errors"
	"testing"

	lifecycleapi "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhoseTurnItIs(t *testing.T) {
	condition := func(e *lifecycleapi.Eviction, kind lifecycleapi.EvictionConditionType, status metav1.ConditionStatus) {
		e.Status.Conditions = append(e.Status.Conditions, metav1.Condition{Type: string(kind), Status: status})
	}
	for name, tc := range map[string]struct {
		state  lifecycleapi.ResponderStateType
		change func(*lifecycleapi.Eviction)
		want   error // why it is not this responder's turn
	}{
		"active":                 {state: lifecycleapi.ResponderStateActive},
		"inactive":               {state: lifecycleapi.ResponderStateInactive, want: ErrGone},
		"interrupted":            {state: lifecycleapi.ResponderStateInterrupted, want: ErrInterrupted},
		"canceled":               {state: lifecycleapi.ResponderStateCanceled, want: ErrCanceled},
		"completed":              {state: lifecycleapi.ResponderStateCompleted, want: ErrGone},
		"none of its responders": {state: lifecycleapi.ResponderStateActive, want: ErrGone, change: func(e *lifecycleapi.Eviction) { e.Status.TargetResponders[0].Name = "example.com/other" }},
		"not initialized":        {state: lifecycleapi.ResponderStateActive, want: ErrGone, change: func(e *lifecycleapi.Eviction) { e.Status = lifecycleapi.EvictionStatus{} }},
		"completed, but not yet so": {state: lifecycleapi.ResponderStateActive, want: ErrGone, change: func(e *lifecycleapi.Eviction) {
			e.Status.Responders[0].CompletionTime = &metav1.Time{Time: epoch}
		}},
		"being deleted": {state: lifecycleapi.ResponderStateActive, want: ErrGone, change: func(e *lifecycleapi.Eviction) {
			e.DeletionTimestamp = &metav1.Time{Time: epoch}
		}},
		"a target of another kind": {state: lifecycleapi.ResponderStateActive, want: ErrGone, change: func(e *lifecycleapi.Eviction) {
			e.Spec.Target.Pod = nil
		}},
		"the pod is awaited": {state: lifecycleapi.ResponderStateActive, change: func(e *lifecycleapi.Eviction) {
			condition(e, lifecycleapi.EvictionConditionTargetEvicted, metav1.ConditionFalse)
			condition(e, lifecycleapi.EvictionConditionFailed, metav1.ConditionFalse)
		}},
		"failed": {state: lifecycleapi.ResponderStateActive, want: ErrGone, change: func(e *lifecycleapi.Eviction) {
			condition(e, lifecycleapi.EvictionConditionFailed, metav1.ConditionTrue)
		}},
		"canceled, so failed": {state: lifecycleapi.ResponderStateCanceled, want: ErrCanceled, change: func(e *lifecycleapi.Eviction) {
			condition(e, lifecycleapi.EvictionConditionFailed, metav1.ConditionTrue)
		}},
		"a pod that is gone was not canceled": {state: lifecycleapi.ResponderStateCanceled, want: ErrGone, change: func(e *lifecycleapi.Eviction) {
			condition(e, lifecycleapi.EvictionConditionTargetEvicted, metav1.ConditionTrue)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEviction("a", tc.state, "u")
			if tc.change != nil {
				tc.change(e)
			}
			ours, cause := isTurnOf(own, e)
			if ours != (tc.want == nil) || !errors.Is(cause, tc.want) {
				t.Errorf("it says %t, %v; want %v", ours, cause, tc.want)
			}
		})
	}
}
