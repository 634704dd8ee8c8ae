// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// work is the event in work and the derived facts of its phases, computed once for each decision.
type work struct {
	facts *Facts
	event *lifecyclev1alpha1.LifecycleEvent
	now   time.Time

	// claim names the driver and its two states, as they were at the claim.
	claim lifecyclev1alpha1.ClaimedDriver
	// driver is the state of that driver on the node.
	driver Driver
	call   Call
	// answer is the driver's last answer. It is empty before the first one.
	answer Answer
	// broken is the answer's violation of the contract, or nil.
	broken *broken
	// reachedEnd: the driver has reported the end state, and the event's status has it.
	reachedEnd bool
}

func newWork(f *Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) *work {
	w := &work{facts: f, event: e, now: now, call: f.Calls[e.UID], reachedEnd: reachedEnd(e)}
	if e.Status.Driver != nil { // only a manual edit of the status can remove it
		w.claim = *e.Status.Driver
	}
	w.driver = f.Drivers(w.claim.Name)
	if w.call.Answer != nil {
		w.answer = *w.call.Answer
		w.broken = checkAnswer(w.answer, w.call.AnsweredKind, w.claim, f.NodeName)
	}
	return w
}

// next decides for the event in work, by its phase.
func (w *work) next() Decision {
	if w.event.Status.ClaimStatus.Terminal() {
		return w.windUp()
	}
	// An end state that was reached in time counts, whatever happened afterwards.
	if !w.reachedEnd {
		if end := w.endsEarly(); end != nil {
			return w.endEarly(*end)
		}
	}
	next := w.drive
	if !protected(w.event) && w.event.DeletionTimestamp == nil {
		next = w.takeTurn
	}
	decision := next()
	if sla := w.event.Status.SLA; sla != nil {
		decision = decision.Or(waitUntil(sla.Time))
	}
	return decision.Or(waitUntil(w.missingUntil()))
}

// reachedEnd returns whether the event's status has the end state of its driver.
func reachedEnd(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.State != "" && e.Status.Driver != nil && e.Status.State == e.Status.Driver.End
}

// Ended returns the status of an event that ends in that phase. Package oversight ends
// events with it, too.
func Ended(e *lifecyclev1alpha1.LifecycleEvent, phase lifecyclev1alpha1.ClaimStatus, reason, message string, now time.Time) lifecyclev1alpha1.LifecycleEventStatus {
	status := e.Status.DeepCopy()
	conclude(status, e, phase, reason, message, now)
	return *status
}

// Missed returns the message of an event whose deadline has passed: the state that was not
// reached, and the last progress.
func Missed(e *lifecyclev1alpha1.LifecycleEvent) string { return missed(e) }

// NodeConditions returns the conditions of the Node that must be written when e has ended.
func NodeConditions(node *corev1.Node, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) []corev1.NodeCondition {
	wanted := append([]corev1.NodeCondition{lifecycleCondition(e)}, concluded(node, e)...)
	if mark, ok := writeConditions(node, wanted, true, now).Step.(MarkNode); ok {
		return mark.Conditions
	}
	return nil
}

// writeIfChanged writes the status after the change, or nothing where it makes no difference.
func writeIfChanged(e *lifecyclev1alpha1.LifecycleEvent, purpose Purpose, change func(*lifecyclev1alpha1.LifecycleEventStatus)) Decision {
	status, changed := lifecycleevent.Changed(e, change)
	if !changed {
		return Decision{}
	}
	return do(WriteStatus{Purpose: purpose, Event: e, Status: status})
}
