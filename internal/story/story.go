// SPDX-License-Identifier: Apache-2.0

package story

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Story is one LifecycleEvent, and what becomes of its node meanwhile.
type Story struct {
	name  string // of the event
	node  *corev1.Node
	event *lifecyclev1alpha1.LifecycleEvent
	gone  bool // the event is
	pods  map[string]*pod
	// blocked are the blockers that have been told of.
	blocked map[string]bool

	lost string // why nothing can be seen now

	begun bool
	began time.Time
	log   []Entry
}

// Entry is one thing that has happened.
type Entry struct {
	// After is the time since the beginning.
	After time.Duration
	Text  string
	// Step says that it is one of the few steps that every event takes.
	Step bool
}

// New is the story of the event of that name.
func New(event string) *Story {
	return &Story{name: event, pods: map[string]*pod{}, blocked: map[string]bool{}}
}

// Begin says that what has been seen so far is how it was before. Of that, only an
// event that goes on is told.
func (s *Story) Begin(at time.Time) {
	s.begun, s.began = true, at
	if event := s.event; event != nil {
		s.event = nil
		s.SawEvent(event, at)
	}
}

// Log is what has happened since the beginning, in order. It only grows.
func (s *Story) Log() []Entry { return s.log }

// Over says that the event is gone.
func (s *Story) Over() bool { return s.gone }

// Lost takes in that nothing can be seen for now, and why.
func (s *Story) Lost(why string, at time.Time) {
	if s.lost == "" {
		s.tell(at, false, "The API server does not answer: "+why)
	}
	s.lost = why
}

// found takes in that something can be seen.
func (s *Story) found(at time.Time) {
	if s.lost != "" {
		s.tell(at, false, "The API server answers again")
	}
	s.lost = ""
}

func (s *Story) tell(at time.Time, step bool, text string) {
	if s.begun {
		s.log = append(s.log, Entry{After: at.Sub(s.began), Text: text, Step: step})
	}
}
