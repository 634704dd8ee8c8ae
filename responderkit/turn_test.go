// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"errors"
	"testing"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhoseTurnItIs(t *testing.T) {
	condition := func(e *evictionv1alpha1.Eviction, kind evictionv1alpha1.EvictionConditionType, status metav1.ConditionStatus) {
		e.Status.Conditions = append(e.Status.Conditions, metav1.Condition{Type: string(kind), Status: status})
	}
	for name, tc := range map[string]struct {
		state  evictionv1alpha1.ResponderStateType
		change func(*evictionv1alpha1.Eviction)
		want   error // why it is not this responder's turn
	}{
		"active":                 {state: evictionv1alpha1.ResponderStateActive},
		"inactive":               {state: evictionv1alpha1.ResponderStateInactive, want: ErrGone},
		"interrupted":            {state: evictionv1alpha1.ResponderStateInterrupted, want: ErrInterrupted},
		"canceled":               {state: evictionv1alpha1.ResponderStateCanceled, want: ErrCanceled},
		"completed":              {state: evictionv1alpha1.ResponderStateCompleted, want: ErrGone},
		"none of its responders": {state: evictionv1alpha1.ResponderStateActive, want: ErrGone, change: func(e *evictionv1alpha1.Eviction) { e.Status.TargetResponders[0].Name = "example.com/other" }},
		"not initialized":        {state: evictionv1alpha1.ResponderStateActive, want: ErrGone, change: func(e *evictionv1alpha1.Eviction) { e.Status = evictionv1alpha1.EvictionStatus{} }},
		"its controller has not seen it": {state: evictionv1alpha1.ResponderStateActive, want: ErrGone, change: func(e *evictionv1alpha1.Eviction) {
			e.Status.ObservedGeneration = nil
		}},
		"completed, but not yet so": {state: evictionv1alpha1.ResponderStateActive, want: ErrGone, change: func(e *evictionv1alpha1.Eviction) {
			e.Status.Responders[0].CompletionTime = &metav1.Time{Time: epoch}
		}},
		"being deleted": {state: evictionv1alpha1.ResponderStateActive, want: ErrGone, change: func(e *evictionv1alpha1.Eviction) {
			e.DeletionTimestamp = &metav1.Time{Time: epoch}
		}},
		"a target of another kind": {state: evictionv1alpha1.ResponderStateActive, want: ErrGone, change: func(e *evictionv1alpha1.Eviction) {
			e.Spec.Target.Pod = nil
		}},
		"the pod is awaited": {state: evictionv1alpha1.ResponderStateActive, change: func(e *evictionv1alpha1.Eviction) {
			condition(e, evictionv1alpha1.EvictionConditionTargetEvicted, metav1.ConditionFalse)
			condition(e, evictionv1alpha1.EvictionConditionFailed, metav1.ConditionFalse)
		}},
		"failed": {state: evictionv1alpha1.ResponderStateActive, want: ErrGone, change: func(e *evictionv1alpha1.Eviction) {
			condition(e, evictionv1alpha1.EvictionConditionFailed, metav1.ConditionTrue)
		}},
		"canceled, so failed": {state: evictionv1alpha1.ResponderStateCanceled, want: ErrCanceled, change: func(e *evictionv1alpha1.Eviction) {
			condition(e, evictionv1alpha1.EvictionConditionFailed, metav1.ConditionTrue)
		}},
		"a pod that is gone was not canceled": {state: evictionv1alpha1.ResponderStateCanceled, want: ErrGone, change: func(e *evictionv1alpha1.Eviction) {
			condition(e, evictionv1alpha1.EvictionConditionTargetEvicted, metav1.ConditionTrue)
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
