// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Story is one LifecycleEvent, and what becomes of its node meanwhile.
type Story struct {
	in    *Stories
	asked Asked

	uid   types.UID // of the event, once it is known
	early []sight   // of events of that name, before

	node  *corev1.Node
	event *lifecyclev1alpha1.LifecycleEvent
	ended *time.Time // when it was first seen to have
	gone  bool       // the event is
	pods  map[string]*pod
	pace  pace
	// blocked are the blockers that have been told of.
	blocked map[string]bool
	// told is the last change.
	told *Change
	// missed tells that the watch was cut, so that something may not have been seen.
	missed bool
	// read tells that the Node was read after the event was gone.
	read bool
	// watched tells that the watch has shown the event, and not only who created it.
	watched bool
}

// sight is an event that was seen.
type sight struct {
	event *lifecyclev1alpha1.LifecycleEvent
	gone  bool
}

func newStory(in *Stories, asked Asked) *Story {
	return &Story{in: in, asked: asked, pods: map[string]*pod{}, blocked: map[string]bool{}}
}

// Node is the name of the node.
func (s *Story) Node() string { return s.asked.Node }

// Name is the name of the event.
func (s *Story) Name() string { return s.asked.Event }

// Event is the event as it was seen last. Nil: not at all.
func (s *Story) Event() *lifecyclev1alpha1.LifecycleEvent { return s.event }

// Unseen says that the event exists, as its creator knows, and the watch has not shown it:
// if the watch was cut meanwhile, it never will.
func (s *Story) Unseen() bool { return s.missed && s.event != nil && !s.watched && !s.gone }

// Refused are the pods that the drain was asked not to evict, while nothing has left for
// it. kubectl drain would not have begun.
func (s *Story) Refused() []lifecyclev1alpha1.Blocker {
	if s.event == nil || s.event.Status.ClaimStatus.Terminal() || s.event.Status.Progress != nil && s.event.Status.Progress.Done > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.event.Status.Blockers), func(b lifecyclev1alpha1.Blocker) bool { return !Refuses(b) })
}

// MissedEnd says that the event is gone, and that only the Node can say how it ended: it is
// to be read. What a watch has shown of it may be older.
func (s *Story) MissedEnd() bool {
	return s.gone && !s.read && !s.event.Status.ClaimStatus.Terminal() && s.event.Status.Driver != nil
}

// Ended says that the event was seen to have ended, or to be gone.
func (s *Story) Ended() bool { return s.ended != nil }

// linger is how long an event that has ended may still be there before nobody waits until
// it is gone: agents may be told to keep events that have ended.
const linger = 3 * time.Second

// Over says that the event has ended, and that nobody waits for it any more.
func (s *Story) Over(now time.Time) bool {
	return s.gone && !s.MissedEnd() || s.ended != nil && now.Sub(*s.ended) >= linger
}

func (s *Story) begin(at time.Time) {
	if event := s.event; event != nil {
		s.event = nil
		s.take(event, false, at)
	}
}

func (s *Story) expect(event *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	s.uid = event.UID
	s.take(event, false, at)
	for _, e := range s.early {
		if e.event.UID == s.uid {
			s.watched = true
			s.take(e.event, e.gone, at)
		}
	}
	s.early = nil
}

func (s *Story) sawEvent(event *lifecyclev1alpha1.LifecycleEvent, gone bool, at time.Time) {
	if s.asked.Expected && s.uid == "" {
		s.early = append(s.early, sight{event, gone})
		return
	}
	if s.uid != "" && s.uid != event.UID || s.gone {
		return // another one of the same name
	}
	s.watched = true
	s.take(event, gone, at)
}

func (s *Story) tell(at time.Time, step bool, text string) { s.in.tell(s.asked.Node, at, step, text) }
