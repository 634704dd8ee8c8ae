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

// Reasons of core Events. The other reasons are LifecycleEventSucceeded, LifecycleEventFailed and
// LifecycleEventSlaExpired after the phase, BudgetsOverridden after the condition, and LeaseLost and OnlyNode after their reasons.
const (
	ReasonClaimed  = "LifecycleEventClaimed"
	ReasonCanceled = "LifecycleEventCanceled"
	// ReasonBlocked: a blocker has existed for [blockedAfter].
	ReasonBlocked = "LifecycleEventBlocked"
	// ReasonCordoned: the node is cordoned for the event.
	ReasonCordoned = "NodeCordoned"
	// ReasonHoldReleased: another actor has released the hold of an actor on the node.
	ReasonHoldReleased = "HoldReleased"
	// ReasonBreakGlass: an event passes all that holds other events back.
	ReasonBreakGlass = "BreakGlass"
)

// blockedAfter is the age at which a blocker is reported. A shorter block is normal in a drain.
const blockedAfter = 30 * time.Second

// notice is the content of a core Event.
type notice struct {
	eventType, reason, message string
	// key distinguishes notices of the same reason. A notice with the same reason and key is reported once.
	key string
}

// written returns the notices about a new status.
func written(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus) []notice {
	var notices []notice
	before := event.Status.ClaimStatus
	if after.ClaimStatus == lifecyclev1alpha1.Claimed && before != lifecyclev1alpha1.Claimed {
		notices = append(notices, notice{
			corev1.EventTypeNormal, ReasonClaimed,
			fmt.Sprintf("LifecycleEvent %s: transition %s begins", event.Name, event.Spec.TransitionName), "",
		})
	}
	if breaksGlass(event, after) {
		notices = append(notices, notice{
			corev1.EventTypeWarning, ReasonBreakGlass,
			fmt.Sprintf("LifecycleEvent %s, %s, passes holds, budgets, guards, leases and claims: %s", event.Name, requester(event), event.Spec.Reason), "",
		})
	}
	if n := overridden(event, after); n != nil {
		notices = append(notices, *n)
	}
	if n := leaseLost(event, after); n != nil {
		notices = append(notices, *n)
	}
	if n := onlyNode(event, after); n != nil {
		notices = append(notices, *n)
	}
	if after.ClaimStatus.Terminal() && !before.Terminal() {
		notices = append(notices, ended(event, after))
	}
	return notices
}

// overridden reports the overridden budgets and the requester, again when their number grows; nil without news.
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
	return &notice{
		corev1.EventTypeWarning, condition, fmt.Sprintf("LifecycleEvent %s, %s: %s", event.Name, requester(event), c.Message), c.Message,
	}
}

func requester(event *lifecyclev1alpha1.LifecycleEvent) string {
	if event.Spec.RequestedBy == "" {
		return "without a recorded requester"
	}
	return fmt.Sprintf("requested by %q", event.Spec.RequestedBy)
}

// breaksGlass returns whether an event that breaks the glass is claimed now.
func breaksGlass(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus) bool {
	_, breaks := event.Annotations[lifecyclev1alpha1.BreakGlassAnnotation]
	return breaks && after.ClaimStatus == lifecyclev1alpha1.Claimed && event.Status.ClaimStatus != lifecyclev1alpha1.Claimed
}

// leaseLost reports that another holder has acquired the lease of a node at work; nil without news.
func leaseLost(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus) *notice {
	const condition, reason = lifecyclev1alpha1.ConditionLeaseHeld, lifecyclev1alpha1.ReasonLeaseLost
	c, before := meta.FindStatusCondition(after.Conditions, condition), meta.FindStatusCondition(event.Status.Conditions, condition)
	if c == nil || c.Reason != reason || before != nil && before.Reason == reason {
		return nil
	}
	return &notice{corev1.EventTypeWarning, reason, fmt.Sprintf("LifecycleEvent %s: %s", event.Name, c.Message), c.Message}
}

// onlyNode reports that the guards have let an event of the only Node of the cluster pass; nil without news.
func onlyNode(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus) *notice {
	const condition, reason = lifecyclev1alpha1.ConditionGuardsPassed, lifecyclev1alpha1.ReasonOnlyNode
	c, before := meta.FindStatusCondition(after.Conditions, condition), meta.FindStatusCondition(event.Status.Conditions, condition)
	if c == nil || c.Reason != reason || before != nil && before.Reason == reason {
		return nil
	}
	return &notice{corev1.EventTypeWarning, reason, fmt.Sprintf("LifecycleEvent %s: %s", event.Name, c.Message), ""}
}

// ended reports the end of an event.
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

// outcome returns the reason and the message of condition Finished.
func outcome(status lifecyclev1alpha1.LifecycleEventStatus) (reason, message string) {
	if c := meta.FindStatusCondition(status.Conditions, lifecyclev1alpha1.ConditionFinished); c != nil {
		return c.Reason, c.Message
	}
	return string(status.ClaimStatus), ""
}

// standing returns the notices about the cordon and about old blockers of an event, and the time of the next notice
// of an unchanged event; zero for never.
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
	text := fmt.Sprintf("LifecycleEvent %s is blocked at %s: %s", event.Name, b.Object, b.Reason)
	if b.By != "" {
		text += " by " + b.By
	}
	if b.Message != "" {
		text += ": " + b.Message
	}
	return text
}
