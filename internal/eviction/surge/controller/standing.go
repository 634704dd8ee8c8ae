// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// standing is where the pod's Eviction stands. What this process has completed is
// completed, whether the watch shows it or not.
func (n *namespace) standing(pod *corev1.Pod) (surge.Standing, error) {
	objects, err := n.watches.evictions.GetIndexer().ByIndex(byPod, string(pod.UID))
	if err != nil {
		return surge.NoEviction, err
	}
	for _, o := range objects {
		e := o.(*evictionv1alpha1.Eviction)
		if hasEnded(e) {
			delete(n.letGo, e.UID)
			continue
		}
		is := standingOf(e)
		if is == surge.Awaited && n.letGo[e.UID] {
			return surge.LetGo, nil
		}
		return is, nil
	}
	return surge.NoEviction, nil
}

func hasEnded(e *evictionv1alpha1.Eviction) bool {
	return e.DeletionTimestamp != nil ||
		apimeta.IsStatusConditionTrue(e.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)) ||
		apimeta.IsStatusConditionTrue(e.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed))
}

func standingOf(e *evictionv1alpha1.Eviction) surge.Standing {
	if len(e.Status.TargetResponders) == 0 {
		return surge.Awaited // it has only begun
	}
	for _, r := range e.Status.TargetResponders {
		if r.Name != surge.Responder {
			continue
		}
		switch r.State {
		case evictionv1alpha1.ResponderStateActive:
			if hasCompleted(e) { // which the state does not show yet
				return surge.LetGo
			}
			return surge.Awaited
		case evictionv1alpha1.ResponderStateInactive:
			return surge.Awaited
		case evictionv1alpha1.ResponderStateInterrupted:
			return surge.Interrupted
		case evictionv1alpha1.ResponderStateCompleted:
			return surge.LetGo
		case evictionv1alpha1.ResponderStateCanceled:
			return surge.NoEviction
		}
	}
	return surge.NoEviction
}

// hasCompleted tells whether our last word is written.
func hasCompleted(e *evictionv1alpha1.Eviction) bool {
	return slices.ContainsFunc(e.Status.Responders, func(r evictionv1alpha1.ResponderStatus) bool {
		return r.Name == surge.Responder && r.CompletionTime != nil
	})
}
