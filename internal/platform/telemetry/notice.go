// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// The reasons of core Events, besides LifecycleEventSucceeded, LifecycleEventFailed and
// LifecycleEventSlaExpired, which are named after the phase, BudgetsOverridden, which is
// named after the condition, and LeaseLost, which is named after its reason.
const (
	ReasonClaimed  = "LifecycleEventClaimed"
	ReasonCanceled = "LifecycleEventCanceled"
	// ReasonBlocked: something has held up the event for [blockedAfter].
	ReasonBlocked = "LifecycleEventBlocked"
	// ReasonCordoned: the node is cordoned for the event.
	ReasonCordoned = "NodeCordoned"
)

// blockedAfter is how long something holds up an event before people are told: what is
// over sooner is the normal course of a drain.
const blockedAfter = 30 * time.Second

// notice is one thing to tell people.
type notice struct {
	eventType, reason, message string
	// key tells it from others of the same reason. Two with the same reason and key are
	// told once.
	key string
}

// written is what the writing of a status means.
func written(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus) []notice {
	var notices []notice
	before := event.Status.ClaimStatus
	if after.ClaimStatus == lifecyclev1alpha1.Claimed && before != lifecyclev1alpha1.Claimed {
		notices = append(notices, notice{
			corev1.EventTypeNormal, ReasonClaimed,
			fmt.Sprintf("LifecycleEvent %s: transition %s begins", event.Name, event.Spec.TransitionName), "",
		})
	}
	if n := overridden(event, after); n != nil {
		notices = append(notices, *n)
	}
	if n := leaseLost(event, after); n != nil {
		notices = append(notices, *n)
	}
	if after.ClaimStatus.Terminal() && !before.Terminal() {
		notices = append(notices, ended(event, after))
	}
	return notices
}

// overridden tells whose budgets were overridden, and who asked for that; and again when
// more are.
func overridden(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus) *notice {
	const condition = lifecyclev1alpha1.ConditionBudgetsOverridden
	c := meta.FindStatusCondition(after.Conditions, condition)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	before := meta.FindStatusCondition(event.Status.Conditions, condition)
	if before != nil && before.Status == c.Status && before.Message == c.Message {
		return nil
	}
	who := "it does not say who asked for it"
	if event.Spec.RequestedBy != "" {
		who = fmt.Sprintf("asked for by %q", event.Spec.RequestedBy)
	}
	return &notice{
		corev1.EventTypeWarning, condition, fmt.Sprintf("LifecycleEvent %s, %s: %s", event.Name, who, c.Message), c.Message,
	}
}

// leaseLost tells that somebody else has taken the lease of a node that is being worked on.
func leaseLost(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus) *notice {
	const condition, reason = lifecyclev1alpha1.ConditionLeaseHeld, lifecyclev1alpha1.ReasonLeaseLost
	c, before := meta.FindStatusCondition(after.Conditions, condition), meta.FindStatusCondition(event.Status.Conditions, condition)
	if c == nil || c.Reason != reason || before != nil && before.Reason == reason {
		return nil
	}
	return &notice{corev1.EventTypeWarning, reason, fmt.Sprintf("LifecycleEvent %s: %s", event.Name, c.Message), c.Message}
}

// ended tells how an event has ended.
func ended(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus) notice {
	reason, message := outcome(after)
	text := fmt.Sprintf("LifecycleEvent %s: transition %s ended as %s", event.Name, event.Spec.TransitionName, reason)
	if message != "" {
		text += ": " + message
	}
	switch {
	case after.ClaimStatus == lifecyclev1alpha1.Succeeded:
		return notice{corev1.EventTypeNormal, "LifecycleEventSucceeded", text, ""}
	case reason == lifecyclev1alpha1.ReasonCanceled:
		return notice{corev1.EventTypeNormal, ReasonCanceled, text, ""}
	default:
		return notice{corev1.EventTypeWarning, "LifecycleEvent" + string(after.ClaimStatus), text, ""}
	}
}

// outcome is the reason and the message of condition Finished.
func outcome(status lifecyclev1alpha1.LifecycleEventStatus) (reason, message string) {
	if c := meta.FindStatusCondition(status.Conditions, lifecyclev1alpha1.ConditionFinished); c != nil {
		return c.Reason, c.Message
	}
	return string(status.ClaimStatus), ""
}

// standing is what is to be told of how an event stands, and when more may be, if nothing
// changes before; never, if that is zero.
func standing(event *lifecyclev1alpha1.LifecycleEvent, cordonedFor []types.UID, now time.Time) (notices []notice, next time.Time) {
	if event.Status.ClaimStatus != lifecyclev1alpha1.Claimed {
		return nil, time.Time{}
	}
	if slices.Contains(cordonedFor, event.UID) {
		notices = append(notices, notice{
			corev1.EventTypeNormal, ReasonCordoned, fmt.Sprintf("LifecycleEvent %s: the node is cordoned for it", event.Name), "",
		})
	}
	seen := map[string]bool{}
	for _, b := range event.Status.Blockers {
		key := b.Reason + " " + b.By
		if seen[key] || b.Since == nil {
			continue
		}
		if due := b.Since.Add(blockedAfter); now.Before(due) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		seen[key] = true
		notices = append(notices, notice{corev1.EventTypeWarning, ReasonBlocked, blocked(event, b), key})
	}
	return notices, next
}

func blocked(event *lifecyclev1alpha1.LifecycleEvent, b lifecyclev1alpha1.Blocker) string {
	text := fmt.Sprintf("LifecycleEvent %s is held up at %s: %s", event.Name, b.Object, b.Reason)
	if b.By != "" {
		text += " by " + b.By
	}
	if b.Message != "" {
		text += ": " + b.Message
	}
	return text
}
