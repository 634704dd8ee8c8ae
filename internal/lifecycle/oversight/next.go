// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// Next returns the controller's next step for the node: the first step that one of its events needs, the oldest event first.
func Next(f Facts, now time.Time) Decision {
	decision := Decision{}
	for _, e := range lifecycleevent.OldestFirst(f.Events) {
		if decision = decision.Or(next(f, e, now)); decision.Step != nil {
			return decision
		}
	}
	return decision.Or(dropHold(f)).Or(showHolders(f)).Or(markOverdue(f, now))
}

func next(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	switch {
	case lifecycleevent.HasForeignClaim(e):
		return release(f, e, now)
	case e.Status.ClaimStatus.Terminal():
		return settleHold(f, e).Or(windUp(f, e, now))
	case e.Status.ClaimStatus == lifecyclev1alpha1.Claimed:
		return takeHold(f, e).Or(watchOver(f, e, now))
	case e.DeletionTimestamp != nil:
		return settleHold(f, e).Or(letGo(f, e, now))
	case f.Node == nil:
		return awaitNode(f, e, now)
	default:
		return guard(f, e, now).Or(takeHold(f, e)).Or(noteAgent(f, e, now))
	}
}

// note writes a condition, unless it stands there already.
func note(e *lifecyclev1alpha1.LifecycleEvent, conditionType string, value metav1.ConditionStatus, reason, message string, now time.Time) Decision {
	status, changed := lifecycleevent.WithCondition(e, conditionType, value, reason, message, now)
	if !changed {
		return Decision{}
	}
	return do(WriteStatus{Event: e, Status: status})
}

// finish writes a terminal phase, with its reason.
func finish(e *lifecyclev1alpha1.LifecycleEvent, phase lifecyclev1alpha1.ClaimStatus, reason, message string, now time.Time) Decision {
	return do(WriteStatus{Event: e, Status: transition.Ended(e, phase, reason, message, now)})
}

// reasonOf is the reason of a condition; empty if there is none.
func reasonOf(e *lifecyclev1alpha1.LifecycleEvent, conditionType string) string {
	if c := lifecycleevent.Condition(e, conditionType); c != nil {
		return c.Reason
	}
	return ""
}

func protected(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return slices.Contains(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
}
