// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// watchOver looks after a claimed event whose agent may be dead, or does nothing.
func watchOver(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if f.Node == nil {
		return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonNodeGone,
			fmt.Sprintf("Node %q was deleted while the event was claimed", f.NodeName), now)
	}
	stalled := stalledBy(e)
	loss, ask := claimerFault(f, e, stalled, now)
	switch {
	case loss == nil && stalled == nil:
		return ask
	case loss == nil:
		return noteStalled(e, metav1.ConditionFalse, lifecyclev1alpha1.ReasonAgentReady, "", now)
	case stalled == nil || stalled.Reason != loss.Reason:
		// A new message alone is not worth a write: a restart forgets the start of the loss.
		return noteStalled(e, metav1.ConditionTrue, loss.Reason, stalledMessage(*loss), now)
	default:
		return enforce(e, *loss, stalled.LastTransitionTime.Time, now)
	}
}

// stalledBy returns the condition Stalled of a stalled event, or nil.
func stalledBy(e *lifecyclev1alpha1.LifecycleEvent) *metav1.Condition {
	if c := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

// claimerFault returns the loss of the event's claimer, which is dead, or alive and silent. Without a loss, the decision has the
// time of the next check.
func claimerFault(f Facts, e *lifecyclev1alpha1.LifecycleEvent, stalled *metav1.Condition, now time.Time) (*Loss, Decision) {
	loss, ask := claimerLoss(f, e, now), Decision{}
	if loss != nil {
		noted := stalled != nil && stalled.Reason != lifecyclev1alpha1.ReasonAgentNotResponding
		deadAt := loss.Since.Add(DeadAfter)
		if noted || !now.Before(deadAt) {
			return loss, ask
		}
		ask = waitUntil(deadAt)
	}
	silent := silence(f, e)
	if silent == nil {
		return nil, ask
	}
	if silentAt := silent.Since.Add(SilentAfter); now.Before(silentAt) {
		return nil, ask.Or(waitUntil(silentAt))
	}
	return silent, Decision{}
}

// stalledMessage returns the cause, the remedy and the next step.
func stalledMessage(loss Loss) string {
	since := loss.Since.UTC().Format(time.RFC3339)
	if loss.Reason == lifecyclev1alpha1.ReasonAgentNotResponding {
		return fmt.Sprintf("the event was due to end at %s: %s. The controller ends it %s after this", since, loss.Advice(), DeadAfter)
	}
	return fmt.Sprintf("no claimer has driven the event since %s: %s. The event continues when its claimer works again; otherwise it ends after its deadline, or when it is deleted",
		since, loss.Advice())
}

// noteStalled keeps the time of the condition when only its reason changes: the time measures the absence of a claimer. The
// time of a silent agent (AgentNotResponding) is separate.
func noteStalled(e *lifecyclev1alpha1.LifecycleEvent, value metav1.ConditionStatus, reason, message string, now time.Time) Decision {
	before := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionStalled)
	status, changed := lifecycleevent.WithCondition(e, lifecyclev1alpha1.ConditionStalled, value, reason, message, now)
	if !changed {
		return Decision{}
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type == lifecyclev1alpha1.ConditionStalled && before != nil && before.Status == value &&
			reason != lifecyclev1alpha1.ReasonAgentNotResponding {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
	return do(WriteStatus{Event: e, Status: status})
}

// enforce ends an event that is stalled as its agent would have done.
func enforce(e *lifecyclev1alpha1.LifecycleEvent, loss Loss, stalledSince, now time.Time) Decision {
	at := endsAt(e, loss, stalledSince)
	if at.IsZero() {
		return Decision{}
	}
	if now.Before(at) {
		return waitUntil(at)
	}
	why := fmt.Sprintf("; the controller has ended it, because no claimer drives it: %s", loss.Message)
	switch {
	case reachedEnd(e):
		// An end state that was reached in time counts, whatever came after it.
		return finish(e, lifecyclev1alpha1.Succeeded, lifecyclev1alpha1.ReasonSucceeded, "", now)
	case e.DeletionTimestamp != nil:
		return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled,
			"the event was deleted while it was claimed"+why, now)
	default:
		return finish(e, lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired, transition.Missed(e)+why, now)
	}
}

// endsAt returns the time at which the controller ends a stalled event. Zero: never. A silent agent has had its time already;
// it gets the time of a restart.
func endsAt(e *lifecyclev1alpha1.LifecycleEvent, loss Loss, stalledSince time.Time) time.Time {
	switch {
	case loss.Reason == lifecyclev1alpha1.ReasonAgentNotResponding:
		return stalledSince.Add(DeadAfter)
	case reachedEnd(e):
		return stalledSince
	case e.DeletionTimestamp != nil:
		// An invisible agent may still work: its time starts with the deletion.
		if deleted := e.DeletionTimestamp.Time; deleted.After(stalledSince) {
			return deleted.Add(CancelAfter)
		}
		return stalledSince.Add(CancelAfter)
	case e.Status.SLA != nil:
		return e.Status.SLA.Add(DeadlineGrace)
	default:
		return time.Time{}
	}
}

func reachedEnd(e *lifecyclev1alpha1.LifecycleEvent) bool {
	driver := e.Status.Driver
	return driver != nil && driver.End != "" && e.Status.State == driver.End
}
