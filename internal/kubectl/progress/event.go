// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// take takes in how the event is, or how it was when it went.
func (s *Story) take(event *lifecyclev1alpha1.LifecycleEvent, gone bool, at time.Time) {
	before := s.event
	if before == nil || before.UID != event.UID {
		before = &lifecyclev1alpha1.LifecycleEvent{}
		s.ended = nil
		s.tell(at, true, "LifecycleEvent "+event.Name+" is there")
	}
	s.event, s.gone = event, gone
	if !s.in.begun {
		return
	}
	s.tellPhase(before, at)
	s.tellProgress(before, at)
	s.tellBlockers(at)
	if before.DeletionTimestamp == nil && event.DeletionTimestamp != nil && !event.Status.ClaimStatus.Terminal() {
		s.tell(at, false, "LifecycleEvent "+event.Name+" is being deleted: that cancels it")
	}
	if (gone || event.Status.ClaimStatus.Terminal()) && s.ended == nil {
		s.ended = &at
	}
	if gone {
		s.tell(at, true, "LifecycleEvent "+event.Name+" is gone")
	}
	if !s.MissedEnd() {
		s.change(at)
	}
}

// tellPhase tells what the agent says of the event.
func (s *Story) tellPhase(before *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	was, is := before.Status, s.event.Status
	if wait, known := Waits(s.event), Waits(before); wait.Reason != "" && (wait.Reason != known.Reason || wait.Message != known.Message) {
		s.tell(at, false, wait.String())
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

// tellProgress tells how many are done, where it is not told of each.
func (s *Story) tellProgress(before *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	p := s.event.Status.Progress
	if p == nil {
		return
	}
	s.pace.saw(*p, at)
	if was := before.Status.Progress; !s.in.pods && p.Total > 0 && (was == nil || *was != *p) {
		s.tell(at, false, fmt.Sprintf("%d of %d done", p.Done, p.Total))
	}
}

// tellBlockers tells of each blocker once.
func (s *Story) tellBlockers(at time.Time) {
	for _, b := range s.event.Status.Blockers {
		if text := heldUp(b); !s.blocked[text] {
			s.blocked[text] = true
			s.tell(at, false, text+helps(b, ": "))
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
