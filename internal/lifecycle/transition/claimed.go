// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// drive writes the driver's answer into a claimed and protected event, marks the Node, and calls the driver again.
func (w *work) drive() Decision {
	if w.call.Answer != nil && !w.reachedEnd {
		if w.broken != nil {
			return finish(w.event, lifecyclev1alpha1.Failed, w.broken.reason, w.broken.message, w.now)
		}
		if step := w.report(); step.Step != nil {
			return step
		}
	}
	mark := Decision{}
	if w.event.Status.State != "" {
		if mark = w.markNode(); mark.Step != nil {
			return mark
		}
	}
	if w.reachedEnd {
		return finish(w.event, lifecyclev1alpha1.Succeeded, lifecyclev1alpha1.ReasonSucceeded, w.answer.Message, w.now)
	}
	return mark.
		Or(w.noteAvailability()).
		Or(w.callNext()).
		Or(w.reportLater())
}

// report writes the driver's answer into the event. A new state, and the first pods that
// wait for their responders, it writes at once; progress at intervals.
func (w *work) report() Decision {
	state := stateBy(w.answer, w.claim)
	purpose := PurposeProgress
	firstLeft := len(w.answer.LeftToResponders) > 0 && len(w.event.Status.LeftToResponders) == 0
	if state != w.event.Status.State {
		purpose = PurposeState
	} else if !firstLeft && w.now.Before(w.reportAt()) {
		return Decision{}
	}
	return writeIfChanged(w.event, purpose, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		status.State = state
		fold(status, w.event, w.answer, w.now)
	})
}

// reportLater wakes when the next progress may be written, if there is any.
func (w *work) reportLater() Decision {
	if w.call.Answer == nil {
		return Decision{}
	}
	status := w.event.Status.DeepCopy()
	fold(status, w.event, w.answer, w.now)
	if equality.Semantic.DeepEqual(*status, w.event.Status) {
		return Decision{}
	}
	return waitUntil(w.reportAt())
}

func (w *work) reportAt() time.Time { return w.facts.ReportedAt[w.event.UID].Add(progressInterval) }

// noteAvailability writes whether the driver is registered and answers.
func (w *work) noteAvailability() Decision {
	register := w.facts.Since.Add(registerTimeout)
	value, reason, message := metav1.ConditionTrue, lifecyclev1alpha1.ReasonDriverRegistered, ""
	noted := ""
	if c := lifecycleevent.Condition(w.event, lifecyclev1alpha1.ConditionDriverAvailable); c != nil {
		noted = c.Reason
	}
	switch {
	case w.driver.Unseen && w.now.Before(register):
		return waitUntil(register) // the agent has only begun to look
	case !w.driver.Registered:
		value, reason = metav1.ConditionFalse, lifecyclev1alpha1.ReasonDriverMissing
		message = fmt.Sprintf("driver %q is not registered %s: the event continues when the driver registers again, or fails after %s", w.claim.Name, w.facts.place(), MissingTimeout)
	case w.call.Failures >= 3 && noted == lifecyclev1alpha1.ReasonDriverNotReady:
		return Decision{} // the first failure is enough: each later text may differ
	case w.call.Failures >= 3:
		value, reason = metav1.ConditionFalse, lifecyclev1alpha1.ReasonDriverNotReady
		message = fmt.Sprintf("driver %q does not answer: %s", w.claim.Name, w.call.Failure)
	case w.call.Failures > 0 && noted != lifecyclev1alpha1.ReasonDriverMissing:
		return Decision{} // it may yet answer
	}
	return writeIfChanged(w.event, PurposeNote, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		message = reasons.Advised(lifecyclev1alpha1.ConditionDriverAvailable, reason, message)
		lifecycleevent.SetCondition(status, w.event, lifecyclev1alpha1.ConditionDriverAvailable, value, reason, message, w.now)
	})
}

// callNext calls the driver when its time has come: Start until the driver has accepted
// it, then End.
func (w *work) callNext() Decision {
	if !w.driver.Registered {
		return Decision{}
	}
	kind := CallEnd
	if w.event.Status.State == "" {
		kind = CallStart
	}
	sameCall := w.call.Kind == kind && w.call.Generation == w.event.Generation
	if sameCall && w.call.InFlight {
		return Decision{}
	}
	if at := w.callAt(kind, sameCall); w.now.Before(at) {
		return waitUntil(at)
	}
	return do(CallDriver{Kind: kind, Event: w.event})
}

// callAt returns the earliest time of the next call.
func (w *work) callAt(kind CallKind, sameCall bool) time.Time {
	switch {
	case w.call.Failures > 0:
		return w.call.EndedAt.Add(retryDelay(w.call.Failures))
	case !sameCall || kind == CallStart:
		return time.Time{}
	case w.answer.Waits:
		return w.call.StartedAt.Add(waitInterval)
	default:
		return w.call.StartedAt.Add(PollInterval)
	}
}
