// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"slices"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// isTurnOf says whether it is the responder's turn in the Eviction. If it is not, the
// error is why a run that goes on must end.
func isTurnOf(name string, e *evictionv1alpha1.Eviction) (bool, error) {
	state := stateOf(name, e)
	switch {
	// A pod that is gone was not canceled, whatever the responder's state says then.
	case e.DeletionTimestamp != nil, isTrue(e, evictionv1alpha1.EvictionConditionTargetEvicted):
		return false, ErrGone
	case state == evictionv1alpha1.ResponderStateCanceled:
		return false, ErrCanceled
	case state == evictionv1alpha1.ResponderStateInterrupted:
		return false, ErrInterrupted
	case state != evictionv1alpha1.ResponderStateActive,
		isTrue(e, evictionv1alpha1.EvictionConditionFailed),
		entryOf(name, e).CompletionTime != nil,
		e.Spec.Target.Pod == nil: // a kind of target that this version does not know
		return false, ErrGone
	}
	return true, nil
}

func isTrue(e *evictionv1alpha1.Eviction, condition evictionv1alpha1.EvictionConditionType) bool {
	return meta.IsStatusConditionTrue(e.Status.Conditions, string(condition))
}

// stateOf is empty where the responder is none of the Eviction's.
func stateOf(name string, e *evictionv1alpha1.Eviction) evictionv1alpha1.ResponderStateType {
	i := slices.IndexFunc(e.Status.TargetResponders, func(r evictionv1alpha1.TargetResponder) bool { return r.Name == name })
	if i < 0 {
		return ""
	}
	return e.Status.TargetResponders[i].State
}

// entryOf is the responder's own entry, with nothing but the name where there is none.
func entryOf(name string, e *evictionv1alpha1.Eviction) evictionv1alpha1.ResponderStatus {
	i := slices.IndexFunc(e.Status.Responders, func(r evictionv1alpha1.ResponderStatus) bool { return r.Name == name })
	if i < 0 {
		return evictionv1alpha1.ResponderStatus{Name: name}
	}
	return *e.Status.Responders[i].DeepCopy()
}
