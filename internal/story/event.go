// SPDX-License-Identifier: Apache-2.0

package story

import (
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// SawEvent takes in how the event is.
func (s *Story) SawEvent(event *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	s.found(at)
	before := s.event
	if before == nil || before.UID != event.UID {
		before = &lifecyclev1alpha1.LifecycleEvent{}
		s.tell(at, true, "LifecycleEvent "+event.Name+" is there")
	}
	s.event, s.gone = event, false
	if !s.begun {
		return
	}
	s.tellPhase(before, at)
	s.tellBlockers(at)
	if before.DeletionTimestamp == nil && event.DeletionTimestamp != nil && !event.Status.ClaimStatus.Terminal() {
		s.tell(at, false, "LifecycleEvent "+event.Name+" is being deleted: that cancels it")
	}
}

// EventGone takes in that the event is gone, and how it was at last.
func (s *Story) EventGone(event *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	s.SawEvent(event, at)
	s.gone = true
	s.tell(at, true, "LifecycleEvent "+event.Name+" is gone")
}

// tellPhase tells what the agent says of the event.
func (s *Story) tellPhase(before *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	was, is := before.Status, s.event.Status
	if wait := waitsFor(&is); wait != "" && wait != waitsFor(&was) {
		s.tell(at, false, wait)
	}
	if was.ClaimStatus == is.ClaimStatus {
		return
	}
	switch is.ClaimStatus {
	case lifecyclev1alpha1.Claimed:
		s.tell(at, true, "Claimed"+s.claim(at))
	case lifecyclev1alpha1.Failed, lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.Succeeded:
		s.tell(at, true, s.Outcome().String())
	case lifecyclev1alpha1.Pending:
	}
}

// claim says who has claimed the event, and until when.
func (s *Story) claim(at time.Time) string {
	text, status := "", s.event.Status
	if status.ClaimedBy != nil {
		text += fmt.Sprintf(" by %s %s", status.ClaimedBy.Kind, status.ClaimedBy.Identity)
	}
	if status.Driver != nil {
		text += " for driver " + status.Driver.Name
	}
	if status.SLA != nil {
		text += ", deadline in " + status.SLA.Sub(at).Round(time.Second).String()
	}
	return text
}

// waitsFor is what keeps the event from going on, in the words of the agent.
func waitsFor(status *lifecyclev1alpha1.LifecycleEventStatus) string {
	for _, conditionType := range []string{lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ConditionDriverAvailable} {
		c := apimeta.FindStatusCondition(status.Conditions, conditionType)
		if c != nil && c.Status == metav1.ConditionFalse && !status.ClaimStatus.Terminal() {
			return fmt.Sprintf("Waits (%s): %s", c.Reason, c.Message)
		}
	}
	return ""
}

// tellBlockers tells of each blocker once.
func (s *Story) tellBlockers(at time.Time) {
	for _, b := range s.event.Status.Blockers {
		if text := heldUp(b); !s.blocked[text] {
			s.blocked[text] = true
			s.tell(at, false, text)
		}
	}
}

func heldUp(b lifecyclev1alpha1.Blocker) string {
	text := fmt.Sprintf("%s is held up: %s", b.Object, b.Reason)
	if b.By != "" {
		text += ", by " + b.By
	}
	return text
}

// Outcome is how an event has ended.
type Outcome struct {
	Phase           lifecyclev1alpha1.ClaimStatus
	Reason, Message string
}

// String is the outcome in one line.
func (o Outcome) String() string {
	text := string(o.Phase)
	if o.Reason != "" && o.Reason != text {
		text += " (" + o.Reason + ")"
	}
	if o.Message != "" {
		text += ": " + o.Message
	}
	return text
}

// Outcome is how the event has ended, as far as that has been seen. If the event
// went while the watch was cut, the Node's condition says it.
func (s *Story) Outcome() Outcome {
	if s.event == nil {
		return Outcome{}
	}
	status := s.event.Status
	outcome := Outcome{Phase: status.ClaimStatus}
	if c := apimeta.FindStatusCondition(status.Conditions, lifecyclev1alpha1.ConditionFinished); c != nil {
		outcome.Reason, outcome.Message = c.Reason, c.Message
	}
	if c := s.nodeCondition(); s.gone && !status.ClaimStatus.Terminal() && status.Driver != nil && c != nil {
		outcome = Outcome{Phase: lifecyclev1alpha1.Failed, Reason: c.Reason, Message: c.Message}
		switch c.Reason {
		case status.Driver.End:
			outcome = Outcome{Phase: lifecyclev1alpha1.Succeeded}
		case lifecyclev1alpha1.ReasonSLAExpired:
			outcome.Phase = lifecyclev1alpha1.SlaExpired
		}
	}
	outcome.Message = strings.TrimSpace(outcome.Message)
	return outcome
}
