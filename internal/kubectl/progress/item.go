// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// Item is one LifecycleEvent that is followed, with its node.
type Item struct {
	in    *Model
	asked Asked

	uid types.UID // of the event, once it is known

	node  *corev1.Node
	event *lifecyclev1alpha1.LifecycleEvent
	ended *time.Time // when it was first seen to have
	gone  bool       // the event is
	pods  map[string]*pod
	pace  pace
	// reported are the blockers that are in the log.
	reported map[string]bool
	// latest is the last change.
	latest *Change
	// missed: the watch was interrupted, so that it may not have shown everything.
	missed bool
	// read: the Node was read after the deletion of the event.
	read bool
	// watched: the watch has shown the event, and not only its creator.
	watched bool
}

func newItem(in *Model, asked Asked) *Item {
	return &Item{in: in, asked: asked, pods: map[string]*pod{}, reported: map[string]bool{}}
}

// Node is the name of the node.
func (s *Item) Node() string { return s.asked.Node }

// Name is the name of the event.
func (s *Item) Name() string { return s.asked.Event }

// Event returns the event as it was seen last. Nil: it was not seen.
func (s *Item) Event() *lifecyclev1alpha1.LifecycleEvent { return s.event }

// Unseen reports whether the creator knows the event, and an interrupted watch has not shown it:
// the watch may never show it.
func (s *Item) Unseen() bool { return s.missed && s.event != nil && !s.watched && !s.gone }

// Refused returns the pods that the drain refuses to evict, while no pod has left. kubectl drain
// would not have started.
func (s *Item) Refused() []lifecyclev1alpha1.Blocker {
	if s.event == nil || s.event.Status.ClaimStatus.Terminal() || s.event.Status.Progress != nil && s.event.Status.Progress.Done > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.event.Status.Blockers), func(b lifecyclev1alpha1.Blocker) bool { return state.FlagAgainst(b) == "" })
}

// Denied returns the blockers of pods whose eviction or deletion the API server refuses for another reason than a
// PodDisruptionBudget.
func (s *Item) Denied() []lifecyclev1alpha1.Blocker {
	if s.event == nil || s.event.Status.ClaimStatus.Terminal() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.event.Status.Blockers), func(b lifecyclev1alpha1.Blocker) bool {
		return b.Reason != string(drain.EvictionRefused) && b.Reason != string(drain.DeletionRefused)
	})
}

// MissedEnd reports whether the event was deleted, and only the Node has the outcome. The watch may
// have shown an older Node, so the caller reads it.
func (s *Item) MissedEnd() bool {
	return !s.read && s.gone && s.last().NeedsNode()
}

// Ended reports whether the event has ended, or was deleted.
func (s *Item) Ended() bool { return s.ended != nil }

// linger is the time limit for the deletion of an event that has ended: a configuration of agents
// can keep such events.
const linger = 3 * time.Second

// Over reports whether the event has ended, and was deleted or is kept.
func (s *Item) Over(now time.Time) bool {
	return s.gone && !s.MissedEnd() || s.ended != nil && now.Sub(*s.ended) >= linger
}

func (s *Item) begin(at time.Time) {
	if event := s.event; event != nil {
		s.event = nil
		s.take(event, false, at)
	}
}

func (s *Item) expect(event *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	s.uid = event.UID
	s.take(event, false, at)
}

func (s *Item) sawEvent(event *lifecyclev1alpha1.LifecycleEvent, gone bool, at time.Time) {
	if s.asked.Expected && s.uid == "" || s.uid != "" && s.uid != event.UID || s.gone {
		return // another one of the same name
	}
	s.watched = true
	s.take(event, gone, at)
}

func (s *Item) tell(at time.Time, step bool, text string) { s.in.tell(s.asked.Node, at, step, text) }

// take processes the current state of the event, or its last state before the deletion.
func (s *Item) take(event *lifecyclev1alpha1.LifecycleEvent, gone bool, at time.Time) {
	before := s.event
	if before == nil || before.UID != event.UID {
		before = &lifecyclev1alpha1.LifecycleEvent{}
		s.ended = nil
		s.tell(at, true, "LifecycleEvent "+event.Name+" exists")
	}
	s.event, s.gone = event, gone
	if !s.in.begun {
		return
	}
	s.tellPhase(before, at)
	s.tellWarning(before, at)
	s.tellProgress(before, at)
	s.tellBlockers(at)
	if before.DeletionTimestamp == nil && event.DeletionTimestamp != nil && !event.Status.ClaimStatus.Terminal() {
		s.tell(at, false, "LifecycleEvent "+event.Name+" is being deleted, which cancels it")
	}
	if (gone || event.Status.ClaimStatus.Terminal()) && s.ended == nil {
		s.ended = &at
	}
	if gone {
		s.tell(at, true, "LifecycleEvent "+event.Name+" is deleted")
	}
	if !s.MissedEnd() {
		s.change(at)
	}
}

// tellPhase reports a change of the phase.
func (s *Item) tellPhase(before *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	was, is := before.Status, s.event.Status
	if wait, known := state.WaitOf(s.event), state.WaitOf(before); wait.Reason != "" && (wait.Reason != known.Reason || wait.Message != known.Message) {
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

// claim returns the claimant of the event, and the deadline.
func (s *Item) claim(at time.Time) string {
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

// tellWarning reports that the guards let the event pass with a warning.
func (s *Item) tellWarning(before *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	c := lifecycleevent.Condition(s.event, lifecyclev1alpha1.ConditionGuardsPassed)
	was := lifecycleevent.Condition(before, lifecyclev1alpha1.ConditionGuardsPassed)
	if c != nil && c.Reason == lifecyclev1alpha1.ReasonOnlyNode && (was == nil || was.Reason != c.Reason) {
		s.tell(at, true, "Warning: "+c.Message)
	}
}

// tellProgress reports the number of pods that have left, unless the log has each pod.
func (s *Item) tellProgress(before *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	p := s.event.Status.Progress
	if p == nil {
		return
	}
	s.pace.saw(*p, at)
	if was := before.Status.Progress; !s.in.pods && p.Total > 0 && (was == nil || *was != *p) {
		s.tell(at, false, fmt.Sprintf("%d of %d done", p.Done, p.Total))
	}
}

// tellBlockers reports each blocker once.
func (s *Item) tellBlockers(at time.Time) {
	for _, b := range s.event.Status.Blockers {
		text := heldUp(b)
		if !s.reported[text] {
			s.reported[text] = true
			if remedy := Remedy(b); remedy != "" {
				text += ": " + remedy
			}
			s.tell(at, false, text)
		}
	}
}

func heldUp(b lifecyclev1alpha1.Blocker) string {
	text := fmt.Sprintf("%s is blocked: %s", b.Object, b.Reason)
	if b.By != "" {
		text += ", by " + b.By
	}
	return text
}
