// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"slices"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// windUp brings an event that has ended to its deletion, where nobody else does.
func windUp(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	dead, decision := unattended(f, e, now)
	if !dead {
		return decision
	}
	if !protected(e) {
		return deleteAfterTTL(f, e, now)
	}
	if f.Node != nil && e.Status.ClaimedBy != nil {
		if changed := transition.NodeConditions(f.Node, e, now); len(changed) > 0 {
			return do(MarkNode{Conditions: changed})
		}
	}
	canceled := reasonOf(e, lifecyclev1alpha1.ConditionFinished) == lifecyclev1alpha1.ReasonCanceled
	if canceled && slices.Contains(f.CordonedFor, e.UID) {
		return do(ReleaseCordon{Event: e})
	}
	return do(Unprotect{Event: e})
}

// deleteAfterTTL deletes an event that has ended and been kept for long enough.
func deleteAfterTTL(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if e.DeletionTimestamp != nil {
		return Decision{} // somebody else's finalizer
	}
	if finished := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionFinished); finished != nil {
		if at := finished.LastTransitionTime.Add(f.FinishedEventTTL); now.Before(at) {
			return waitUntil(at)
		}
	}
	return do(Delete{Event: e})
}
