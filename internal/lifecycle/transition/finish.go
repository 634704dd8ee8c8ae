// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// finish writes a terminal phase, with its reason.
func finish(e *lifecyclev1alpha1.LifecycleEvent, phase lifecyclev1alpha1.ClaimStatus, reason, message string, now time.Time) Decision {
	return writeIfChanged(e, PurposeFinish, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		conclude(status, e, phase, reason, message, now)
	})
}

func conclude(status *lifecyclev1alpha1.LifecycleEventStatus, e *lifecyclev1alpha1.LifecycleEvent, phase lifecyclev1alpha1.ClaimStatus, reason, message string, now time.Time) {
	status.ClaimStatus = phase
	status.LeftToResponders = nil // nobody waits for them any more
	if phase == lifecyclev1alpha1.Succeeded {
		status.Blockers, status.BlockersTotal = nil, 0
	}
	lifecycleevent.SetCondition(status, e, lifecyclev1alpha1.ConditionFinished, metav1.ConditionTrue, reason, message, now)
}

// windUp brings an event that has ended to its deletion. The node is free for the
// next event when the finalizer is gone, and not before the driver has stopped.
func windUp(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if mustBeTold(e) && !told(f, e, now) {
		return tell(f, e, now)
	}
	if step := markNode(f, e, now); step.Step != nil {
		return step
	}
	if finishedReason(e) == lifecyclev1alpha1.ReasonCanceled && slices.Contains(f.CordonedFor, e.UID) {
		return do(ReleaseCordon{Event: e})
	}
	return do(Unprotect{Event: e})
}

// mustBeTold says whether the driver may still be at work on an event that has
// ended: not when it reached the end itself, nor when it said that it failed.
func mustBeTold(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded &&
		finishedReason(e) != lifecyclev1alpha1.ReasonDriverFailed
}

func finishedReason(e *lifecyclev1alpha1.LifecycleEvent) string {
	if c := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionFinished); c != nil {
		return c.Reason
	}
	return ""
}

// deleteAfterTTL deletes an event that has ended and been kept for long enough.
func deleteAfterTTL(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if finished := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionFinished); finished != nil {
		if at := finished.LastTransitionTime.Add(f.FinishedEventTTL); now.Before(at) {
			return waitUntil(at)
		}
	}
	return do(Delete{Event: e})
}
