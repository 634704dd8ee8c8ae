// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Wait is what keeps an event from going on. Without a reason: nothing.
type Wait struct {
	Reason, Message string
	// Outdated means that it was said of an older spec of the event.
	Outdated bool
}

// String is the wait in one line.
func (w Wait) String() string {
	text := fmt.Sprintf("Waits (%s): %s", w.Reason, w.Message)
	if w.Outdated {
		text += " (outdated)"
	}
	return text
}

// Waits is what keeps an event from being claimed or driven: the guard that holds it, the
// gate, who is missing. What holds up its driver is in its blockers.
func Waits(event *lifecyclev1alpha1.LifecycleEvent) Wait {
	if event.Status.ClaimStatus.Terminal() {
		return Wait{}
	}
	for _, sign := range []struct {
		conditionType string
		status        metav1.ConditionStatus
	}{
		{lifecyclev1alpha1.ConditionLeaseHeld, metav1.ConditionFalse},
		{lifecyclev1alpha1.ConditionGuardsPassed, metav1.ConditionFalse},
		{lifecyclev1alpha1.ConditionClaimable, metav1.ConditionFalse},
		{lifecyclev1alpha1.ConditionStalled, metav1.ConditionTrue},
		{lifecyclev1alpha1.ConditionDriverAvailable, metav1.ConditionFalse},
	} {
		c := apimeta.FindStatusCondition(event.Status.Conditions, sign.conditionType)
		if c != nil && c.Status == sign.status {
			return Wait{Reason: c.Reason, Message: c.Message, Outdated: c.ObservedGeneration != 0 && c.ObservedGeneration < event.Generation}
		}
	}
	return Wait{}
}

// Outdated says that an event has been changed, and its driver does not know yet.
func Outdated(event *lifecyclev1alpha1.LifecycleEvent) bool {
	return event.Status.ClaimStatus == lifecyclev1alpha1.Claimed && event.Status.ObservedGeneration != 0 &&
		event.Status.ObservedGeneration < event.Generation
}

// Blocked says that nothing moves before somebody does something: all that is left is
// held up, or the node as a whole is.
func Blocked(status *lifecyclev1alpha1.LifecycleEventStatus) bool {
	if status.BlockersTotal == 0 && len(status.Blockers) == 0 {
		return false
	}
	ofAll := func(b lifecyclev1alpha1.Blocker) bool { return !strings.HasPrefix(b.Object, "Pod ") || Refuses(b) }
	if slices.ContainsFunc(status.Blockers, ofAll) || status.Progress == nil {
		return true
	}
	return max(status.BlockersTotal, int32(len(status.Blockers))) >= status.Progress.Total-status.Progress.Done
}

// needsPeople tells that something does not pass by itself: how long it takes is up to people.
func needsPeople(status *lifecyclev1alpha1.LifecycleEventStatus) bool {
	return Blocked(status) || slices.ContainsFunc(status.Blockers, func(b lifecyclev1alpha1.Blocker) bool {
		reason, known := reasons.Lookup(reasons.Blocker, b.Reason)
		return known && !reason.Passes
	})
}

// StateOf is how an event is, in one word, and how good that is.
func StateOf(event *lifecyclev1alpha1.LifecycleEvent) ui.Span {
	status := &event.Status
	switch {
	case status.ClaimStatus == lifecyclev1alpha1.Succeeded:
		return ui.Span{Text: words(event).done, Tone: ui.Good}
	case status.ClaimStatus == lifecyclev1alpha1.SlaExpired:
		return ui.Span{Text: "deadline passed", Tone: ui.Bad}
	case status.ClaimStatus == lifecyclev1alpha1.Failed && canceled(status):
		return ui.Span{Text: "canceled", Tone: ui.Warn}
	case status.ClaimStatus == lifecyclev1alpha1.Failed:
		return ui.Span{Text: "failed", Tone: ui.Bad}
	case event.DeletionTimestamp != nil:
		return ui.Span{Text: "canceling", Tone: ui.Warn}
	case Waits(event).Reason == lifecyclev1alpha1.ReasonWaitingForTurn:
		return ui.Span{Text: "waiting"}
	case status.ClaimStatus != lifecyclev1alpha1.Claimed:
		return ui.Span{Text: "waiting", Tone: ui.Warn}
	case Waits(event).Reason != "":
		return ui.Span{Text: "stalled", Tone: ui.Bad}
	case Blocked(status):
		return ui.Span{Text: "blocked", Tone: ui.Bad}
	default:
		return ui.Span{Text: words(event).doing}
	}
}

func canceled(status *lifecyclev1alpha1.LifecycleEventStatus) bool {
	c := apimeta.FindStatusCondition(status.Conditions, lifecyclev1alpha1.ConditionFinished)
	return c != nil && c.Reason == lifecyclev1alpha1.ReasonCanceled
}

// verbs are what a transition does.
type verbs struct{ doing, done string }

// words are those of the field for Slipway's own transitions, known by the states that
// they lead to, and general ones for those of others.
func words(event *lifecyclev1alpha1.LifecycleEvent) verbs {
	end := ""
	if event.Status.Driver != nil {
		end = event.Status.Driver.End
	}
	switch end {
	case "drain-complete":
		return verbs{"draining", "drained"}
	case lifecyclev1alpha1.StateMaintenanceComplete:
		return verbs{"returning", "returned"}
	default:
		return verbs{"running", "done"}
	}
}
