// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// drive is the next step for the event that is worked on.
func drive(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if e.Status.ClaimStatus.Terminal() {
		return windUp(f, e, now)
	}
	// An end state that was reached in time counts, whatever came after it.
	if !reachedEnd(e) {
		if over := isOver(f, e, now); over != nil {
			return endEarly(f, e, *over, now)
		}
	}
	if !protected(e) && e.DeletionTimestamp == nil {
		return do(Protect{Event: e})
	}
	decision := advance(f, e, now)
	if e.Status.SLA != nil {
		decision = decision.Or(waitUntil(e.Status.SLA.Time))
	}
	return decision
}

// ending says why a claimed event ends before its driver has reached the end state.
type ending struct {
	phase           lifecyclev1alpha1.ClaimStatus
	reason, message string
	since           time.Time
}

// isOver is nil while nothing outside of the driver ends the event.
func isOver(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) *ending {
	switch {
	case e.DeletionTimestamp != nil:
		return &ending{
			lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled,
			"the event was deleted while it was claimed", e.DeletionTimestamp.Time,
		}
	case e.Status.SLA != nil && !now.Before(e.Status.SLA.Time):
		return &ending{
			lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired,
			missed(e), e.Status.SLA.Time,
		}
	case fromOldHome(f, e):
		return &ending{lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonHomeChanged, homeChangedMessage, f.HomeSince}
	default:
		if message := parametersTooLarge(e); message != "" {
			return &ending{lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonInvalidParameters, message, now}
		}
		return nil
	}
}

// missed is the message of an event whose time is up.
func missed(e *lifecyclev1alpha1.LifecycleEvent) string {
	return fmt.Sprintf("state %q was not reached by %s%s", driverOf(e).End, e.Status.SLA.UTC().Format(time.RFC3339), lastKnown(e))
}

// lastKnown tells, in the message of an event whose time is up, how far it was.
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

// endEarly tells the driver before it writes the terminal phase: who reads that
// phase may then rely on it that the driver has stopped. A driver that does not
// answer delays the phase by [LastEndTimeout] at most.
func endEarly(f Facts, e *lifecyclev1alpha1.LifecycleEvent, over ending, now time.Time) Decision {
	giveUp := over.since.Add(LastEndTimeout)
	if over.since.Before(f.Since) { // it was over while nobody looked
		giveUp = f.Since.Add(LastEndTimeout)
	}
	if protected(e) && !told(f, e, now) && now.Before(giveUp) {
		return tell(f, e, now).Or(waitUntil(giveUp))
	}
	return writeIfChanged(e, PurposeFinish, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		// The driver's last words: what it did until it was told to stop must not be lost.
		if call := f.Calls[e.UID]; call.AnsweredKind == CallLastEnd && check(call, e, f.NodeName) == nil {
			foldConditions(status, e, call.Answer, now)
		}
		conclude(status, e, over.phase, over.reason, over.message, now)
	})
}

// told says whether the driver knows that the event is over, or is not there to be
// told. After a restart of ours, its process may be at work, and not have been found
// yet.
func told(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) bool {
	if driver := f.Drivers(driverOf(e).Name); !driver.Registered {
		return !driver.Unseen || !now.Before(f.Since.Add(LastEndTimeout))
	}
	call := f.Calls[e.UID]
	return call.AnsweredKind == CallLastEnd
}

// tell calls the driver for the last time, again and again until it answers.
func tell(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if !f.Drivers(driverOf(e).Name).Registered {
		return waitUntil(f.Since.Add(LastEndTimeout))
	}
	call := f.Calls[e.UID]
	if call.Kind == CallLastEnd {
		if call.InFlight {
			return Decision{}
		}
		if next := call.EndedAt.Add(retryDelay(call.Failures)); now.Before(next) {
			return waitUntil(next)
		}
	}
	return do(CallDriver{Kind: CallLastEnd, Event: e})
}

// advance moves a claimed and protected event on by what its driver says.
func advance(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	call := f.Calls[e.UID]
	ended := reachedEnd(e)
	if call.Answer != nil && !ended {
		if broken := check(call, e, f.NodeName); broken != nil {
			return finish(e, lifecyclev1alpha1.Failed, broken.reason, broken.message, now)
		}
		if step := record(f, e, call, now); step.Step != nil {
			return step
		}
	}
	mark := Decision{}
	if e.Status.State != "" {
		if mark = markNode(f, e, now); mark.Step != nil {
			return mark
		}
	}
	if ended {
		return finish(e, lifecyclev1alpha1.Succeeded, lifecyclev1alpha1.ReasonSucceeded, answered(call).Message, now)
	}
	return mark.
		Or(availability(f, e, call, now)).
		Or(callNext(f, e, call, now)).
		Or(throttled(f, e, call, now))
}

// availability notes whether the driver is there, and whether it answers.
func availability(f Facts, e *lifecyclev1alpha1.LifecycleEvent, call Call, now time.Time) Decision {
	name := driverOf(e).Name
	driver, register := f.Drivers(name), f.Since.Add(registerTimeout)
	value, reason, message := metav1.ConditionTrue, lifecyclev1alpha1.ReasonDriverRegistered, ""
	switch {
	case driver.Unseen && now.Before(register):
		return waitUntil(register) // we have only begun to look
	case !driver.Registered:
		value, reason = metav1.ConditionFalse, lifecyclev1alpha1.ReasonDriverMissing
		message = fmt.Sprintf("driver %q is not registered on node %q: the event goes on when it returns", name, f.NodeName)
	case call.Failures >= 3:
		value, reason = metav1.ConditionFalse, lifecyclev1alpha1.ReasonDriverNotReady
		message = notAnswering(e, name, call.Failure)
	case call.Failures > 0 && !notedMissing(e):
		return Decision{} // it may yet answer
	}
	return writeIfChanged(e, PurposeNote, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		message = reasons.Advised(lifecyclev1alpha1.ConditionDriverAvailable, reason, message)
		lifecycleevent.SetCondition(status, e, lifecyclev1alpha1.ConditionDriverAvailable, value, reason, message, now)
	})
}

// notAnswering is what the first failure said, as long as it lasts: the text may be another one each time.
func notAnswering(e *lifecyclev1alpha1.LifecycleEvent, driver, failure string) string {
	if c := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionDriverAvailable); c != nil && c.Reason == lifecyclev1alpha1.ReasonDriverNotReady {
		return c.Message
	}
	return fmt.Sprintf("driver %q does not answer: %s", driver, failure)
}

// notedMissing says whether the event says that its driver is not registered.
func notedMissing(e *lifecyclev1alpha1.LifecycleEvent) bool {
	c := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionDriverAvailable)
	return c != nil && c.Reason == lifecyclev1alpha1.ReasonDriverMissing
}

// callNext calls the driver when its time has come: Start until it has been
// accepted, then End.
func callNext(f Facts, e *lifecyclev1alpha1.LifecycleEvent, call Call, now time.Time) Decision {
	if !f.Drivers(driverOf(e).Name).Registered {
		return Decision{}
	}
	kind := CallEnd
	if e.Status.State == "" {
		kind = CallStart
	}
	sameCall := call.Kind == kind && call.Generation == e.Generation
	if sameCall && call.InFlight {
		return Decision{}
	}
	if next := notBefore(call, kind, sameCall); now.Before(next) {
		return waitUntil(next)
	}
	return do(CallDriver{Kind: kind, Event: e})
}

// notBefore is the earliest time of the next call.
func notBefore(call Call, kind CallKind, sameCall bool) time.Time {
	switch {
	case call.Failures > 0:
		return call.EndedAt.Add(retryDelay(call.Failures))
	case !sameCall || kind == CallStart:
		return time.Time{}
	case answered(call).Waits:
		return call.StartedAt.Add(waitInterval)
	default:
		return call.StartedAt.Add(PollInterval)
	}
}

func answered(call Call) Answer {
	if call.Answer == nil {
		return Answer{}
	}
	return *call.Answer
}

// driverOf is the driver of a claimed event. Only a hand that edits the status can
// leave it out.
func driverOf(e *lifecyclev1alpha1.LifecycleEvent) lifecyclev1alpha1.ClaimedDriver {
	if e.Status.Driver == nil {
		return lifecyclev1alpha1.ClaimedDriver{}
	}
	return *e.Status.Driver
}
