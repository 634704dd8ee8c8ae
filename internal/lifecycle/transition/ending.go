// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// ending is the outcome of a claimed event whose driver has not reached the end state.
type ending struct {
	phase           lifecyclev1alpha1.ClaimStatus
	reason, message string
	since           time.Time
}

// endsEarly returns nil while only the driver can end the event.
func (w *work) endsEarly() *ending {
	e := w.event
	switch {
	case e.DeletionTimestamp != nil:
		return &ending{
			lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled,
			"the event was deleted while it was claimed", e.DeletionTimestamp.Time,
		}
	case e.Status.SLA != nil && !w.now.Before(e.Status.SLA.Time):
		return &ending{lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired, missed(e), e.Status.SLA.Time}
	case w.stayedAway():
		return &ending{
			lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonDriverMissing,
			fmt.Sprintf("driver %q was not registered %s for %s", w.claim.Name, w.facts.place(), MissingTimeout), w.missingUntil(),
		}
	case fromOldHome(w.facts, e):
		return &ending{lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonHomeChanged, homeChangedMessage, w.facts.HomeSince}
	default:
		if message := parametersTooLarge(e); message != "" {
			return &ending{lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonInvalidParameters, message, w.now}
		}
		return nil
	}
}

// missingUntil returns the time at which the event fails without its driver, or zero. The time runs from the condition, so a
// restart of the agent does not extend it.
func (w *work) missingUntil() time.Time {
	c := lifecycleevent.Condition(w.event, lifecyclev1alpha1.ConditionDriverAvailable)
	if w.driver.Registered || c == nil || c.Reason != lifecyclev1alpha1.ReasonDriverMissing {
		return time.Time{}
	}
	until := c.LastTransitionTime.Add(MissingTimeout)
	if looked := w.facts.Since.Add(registerTimeout); w.driver.Unseen && until.Before(looked) {
		return looked
	}
	return until
}

// stayedAway returns whether the driver has been missing for [MissingTimeout].
func (w *work) stayedAway() bool {
	until := w.missingUntil()
	return !until.IsZero() && !w.now.Before(until)
}

// endEarly tells the driver before it writes the terminal phase: a reader of that phase
// can then rely on it that the driver has stopped. A driver that does not answer delays
// the phase by [LastEndTimeout] at most.
func (w *work) endEarly(end ending) Decision {
	giveUp := end.since.Add(LastEndTimeout)
	if end.since.Before(w.facts.Since) { // it ended before the agent started
		giveUp = w.facts.Since.Add(LastEndTimeout)
	}
	if protected(w.event) && !w.driverTold() && w.now.Before(giveUp) {
		return w.tellDriver().Or(waitUntil(giveUp))
	}
	return writeIfChanged(w.event, PurposeFinish, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		// The driver's final report covers its work until it stopped.
		if w.call.AnsweredKind == CallLastEnd && w.broken == nil {
			foldConditions(status, w.event, w.answer, w.now)
		}
		conclude(status, w.event, end.phase, end.reason, end.message, w.now)
	})
}

// driverTold returns whether the driver knows the end of the event, or is not registered. After a restart of the agent, a
// working driver may register late.
func (w *work) driverTold() bool {
	if !w.driver.Registered {
		return !w.driver.Unseen || !w.now.Before(w.facts.Since.Add(LastEndTimeout))
	}
	return w.call.AnsweredKind == CallLastEnd
}

// tellDriver calls the driver for the last time, until it answers.
func (w *work) tellDriver() Decision {
	if !w.driver.Registered {
		return waitUntil(w.facts.Since.Add(LastEndTimeout))
	}
	if w.call.Kind == CallLastEnd {
		if w.call.InFlight {
			return Decision{}
		}
		if at := w.call.EndedAt.Add(retryDelay(w.call.Failures)); w.now.Before(at) {
			return waitUntil(at)
		}
	}
	return do(CallDriver{Kind: CallLastEnd, Event: w.event})
}

// windUp brings an event that has ended to its deletion. The node is free for the next
// event when the finalizer is removed, after the driver has stopped.
func (w *work) windUp() Decision {
	// A driver that reached the end, or reported that it failed, has stopped.
	reason := finishedReason(w.event)
	stopped := w.event.Status.ClaimStatus == lifecyclev1alpha1.Succeeded || reason == lifecyclev1alpha1.ReasonDriverFailed
	if !stopped && !w.driverTold() {
		return w.tellDriver()
	}
	if step := w.markNode(); step.Step != nil {
		return step
	}
	return do(Unprotect{Event: w.event, Uncordon: w.facts.Node != nil && reason == lifecyclev1alpha1.ReasonCanceled})
}

// finish writes a terminal phase with its reason.
func finish(e *lifecyclev1alpha1.LifecycleEvent, phase lifecyclev1alpha1.ClaimStatus, reason, message string, now time.Time) Decision {
	return writeIfChanged(e, PurposeFinish, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		conclude(status, e, phase, reason, message, now)
	})
}

func conclude(status *lifecyclev1alpha1.LifecycleEventStatus, e *lifecyclev1alpha1.LifecycleEvent, phase lifecyclev1alpha1.ClaimStatus, reason, message string, now time.Time) {
	status.ClaimStatus = phase
	status.LeftToResponders = nil // the drain no longer waits for them
	if phase == lifecyclev1alpha1.Succeeded {
		status.Blockers, status.BlockersTotal = nil, 0
	}
	lifecycleevent.SetCondition(status, e, lifecyclev1alpha1.ConditionFinished, metav1.ConditionTrue, reason, message, now)
}

func missed(e *lifecyclev1alpha1.LifecycleEvent) string {
	end := ""
	if e.Status.Driver != nil {
		end = e.Status.Driver.End
	}
	return fmt.Sprintf("state %q was not reached by %s%s", end, e.Status.SLA.UTC().Format(time.RFC3339), lastKnown(e))
}

// lastKnown returns the progress and the first blocker of an event whose deadline has passed.
func lastKnown(e *lifecyclev1alpha1.LifecycleEvent) string {
	text := ""
	if p := e.Status.Progress; p != nil && p.Summary != "" {
		text += "; progress " + p.Summary
	}
	if b := e.Status.Blockers; len(b) > 0 {
		text += fmt.Sprintf("; %s: %s", b[0].Object, b[0].Message)
	}
	return text
}

func finishedReason(e *lifecyclev1alpha1.LifecycleEvent) string {
	if c := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionFinished); c != nil {
		return c.Reason
	}
	return ""
}
