// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// windUp brings an ended event to its deletion, if no agent does so.
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
	return do(Unprotect{Event: e, Uncordon: f.Node != nil && canceled})
}

// release ends an event that a third-party controller has claimed, once a person with that permission has released it.
// Until then, only its claimer acts on the event.
func release(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	// The guards have let it pass, so it has a hold, which ends when its claimer has ended the event.
	letGo := e.DeletionTimestamp != nil && len(e.Finalizers) == 1
	if over := e.Status.ClaimStatus.Terminal() || letGo; over && hasHoldFinalizer(e) {
		return settleHold(f, e)
	}
	if _, released := e.Annotations[lifecyclev1alpha1.ReleaseClaimAnnotation]; !released {
		return Decision{}
	}
	switch {
	case !e.Status.ClaimStatus.Terminal():
		return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonClaimReleased,
			fmt.Sprintf("a person released the claim of %s", lifecycleevent.ClaimerName(e)), now)
	case protected(e):
		return do(Unprotect{Event: e})
	default:
		return deleteAfterTTL(f, e, now)
	}
}

// deleteAfterTTL deletes an ended event after its time to live.
func deleteAfterTTL(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if e.DeletionTimestamp != nil {
		return Decision{} // another finalizer holds it
	}
	if finished := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionFinished); finished != nil {
		if at := finished.LastTransitionTime.Add(f.FinishedEventTTL); now.Before(at) {
			return waitUntil(at)
		}
	}
	return do(Delete{Event: e})
}
