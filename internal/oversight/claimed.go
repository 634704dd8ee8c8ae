// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/transition"
)

// watchOver looks after a claimed event whose agent may be dead.
func watchOver(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if f.Node == nil {
		return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonNodeGone,
			fmt.Sprintf("Node %q was deleted while the event was claimed", f.NodeName), now)
	}
	stalled := condition(e, lifecyclev1alpha1.ConditionStalled)
	isStalled := stalled != nil && stalled.Status == metav1.ConditionTrue
	loss := claimerLoss(f, e, now)
	if loss == nil {
		if !isStalled {
			return Decision{}
		}
		return noteStalled(e, metav1.ConditionFalse, lifecyclev1alpha1.ReasonAgentReady, "", now)
	}
	if deadAt := loss.Since.Add(DeadAfter); !isStalled && now.Before(deadAt) {
		return waitUntil(deadAt)
	}
	// Its words alone do not matter: since when it is lost is forgotten with a restart.
	if !isStalled || stalled.Reason != loss.Reason {
		return noteStalled(e, metav1.ConditionTrue, loss.Reason, fmt.Sprintf(
			"nobody has driven the event since %s: %s. It goes on when that is mended; else it ends after its deadline, or when it is deleted",
			loss.Since.UTC().Format(time.RFC3339), loss.Advice()), now)
	}
	return enforce(e, *loss, stalled.LastTransitionTime.Time, now)
}

// noteStalled keeps the time of the condition when only its reason changes: what is
// counted from it is how long nobody was there.
func noteStalled(e *lifecyclev1alpha1.LifecycleEvent, value metav1.ConditionStatus, reason, message string, now time.Time) Decision {
	before := condition(e, lifecyclev1alpha1.ConditionStalled)
	status, changed := transition.Noted(e, lifecyclev1alpha1.ConditionStalled, value, reason, message, now)
	if !changed {
		return Decision{}
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type == lifecyclev1alpha1.ConditionStalled && before != nil && before.Status == value {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
	return do(WriteStatus{Event: e, Status: status})
}

// enforce ends an event that is stalled as its agent would have done.
func enforce(e *lifecyclev1alpha1.LifecycleEvent, loss Loss, stalledSince, now time.Time) Decision {
	if driver := e.Status.Driver; driver != nil && driver.End != "" && e.Status.State == driver.End {
		// An end state that was reached in time counts, whatever came after it.
		return finish(e, lifecyclev1alpha1.Succeeded, lifecyclev1alpha1.ReasonSucceeded, "", now)
	}
	why := fmt.Sprintf("; the controller has ended it, because nobody drives it: %s", loss.Message)
	decision := Decision{}
	if e.DeletionTimestamp != nil {
		at := stalledSince.Add(CancelAfter)
		if !now.Before(at) {
			return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled,
				"the event was deleted while it was claimed"+why, now)
		}
		decision = waitUntil(at)
	}
	if e.Status.SLA == nil {
		return decision
	}
	at := e.Status.SLA.Add(DeadlineGrace)
	if now.Before(at) {
		return decision.or(waitUntil(at))
	}
	if e.DeletionTimestamp != nil {
		return decision // it was canceled before: that it ends as, in its time
	}
	return finish(e, lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired, transition.Missed(e)+why, now)
}
