// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Asked is an event that is followed.
type Asked struct {
	Node, Event string
	// Expected means that who asks says which event it is, by [Stories.Expect]: an older
	// one of the same name is none of the story. Else it is the first that is seen.
	Expected bool
}

// Stories are those of some events, seen by one watch.
type Stories struct {
	all  []*Story // as they were asked for
	lost string   // why nothing can be seen now
	pods bool     // they are watched as well

	begun   bool
	began   time.Time
	log     []Entry
	changes []Change
}

// Entry is one thing that has happened.
type Entry struct {
	// After is the time since the beginning.
	After time.Duration
	// Node that it happened to. Empty where there is only one.
	Node string
	Text string
	// Step says that it is one of the few steps that every event takes.
	Step bool
}

// New are the stories of some events.
func New(asked ...Asked) *Stories {
	s := &Stories{}
	for _, a := range asked {
		s.all = append(s.all, newStory(s, a))
	}
	return s
}

// Begin says that what has been seen so far is how it was before. Of that, only an
// event that goes on is told.
func (s *Stories) Begin(at time.Time) {
	s.begun, s.began = true, at
	for _, one := range s.all {
		one.begin(at)
	}
}

// WatchPods says that pods are seen as well: each of them is told, instead of counts.
func (s *Stories) WatchPods() { s.pods = true }

// Log is what has happened since the beginning, in order. It only grows.
func (s *Stories) Log() []Entry { return s.log }

// Changes are what programs are told, in order. It only grows.
func (s *Stories) Changes() []Change { return s.changes }

// Over says that all events have ended.
func (s *Stories) Over(now time.Time) bool {
	return !slices.ContainsFunc(s.all, func(one *Story) bool { return !one.Over(now) })
}

// All are the stories, as they were asked for.
func (s *Stories) All() []*Story { return s.all }

// Expect says which event a story is about: as it was created, or found.
func (s *Stories) Expect(event *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	if one := s.of(event.Name); one != nil {
		one.expect(event, at)
	}
}

// SawEvent takes in how an event is.
func (s *Stories) SawEvent(event *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	s.Found(at)
	if one := s.of(event.Name); one != nil {
		one.sawEvent(event, false, at)
	}
}

// EventGone takes in that an event is gone, and how it was at last.
func (s *Stories) EventGone(event *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	s.Found(at)
	if one := s.of(event.Name); one != nil {
		one.sawEvent(event, true, at)
	}
}

// SawNode takes in how a Node is.
func (s *Stories) SawNode(node *corev1.Node, at time.Time) {
	s.Found(at)
	for _, one := range s.all {
		if one.asked.Node == node.Name {
			one.sawNode(node, at)
		}
	}
}

// ReadNode takes in how a Node is that was read after all that was seen, or nil where it
// cannot be. See [Story.MissedEnd].
func (s *Stories) ReadNode(name string, node *corev1.Node, at time.Time) {
	if node != nil {
		s.SawNode(node, at)
	}
	for _, one := range s.all {
		if one.asked.Node == name && one.MissedEnd() {
			one.read = true
			one.change(at)
		}
	}
}

// SawPod takes in how a pod of one of the nodes is.
func (s *Stories) SawPod(pod *corev1.Pod, at time.Time) {
	s.Found(at)
	for _, one := range s.all {
		if one.asked.Node == pod.Spec.NodeName {
			one.sawPod(pod, at)
		}
	}
}

// PodGone takes in that a pod has left its node.
func (s *Stories) PodGone(pod *corev1.Pod, at time.Time) {
	s.Found(at)
	for _, one := range s.all {
		one.podGone(pod, at)
	}
}

// Lost takes in that nothing can be seen for now, and why.
func (s *Stories) Lost(why string, at time.Time) {
	if s.lost == "" {
		s.tell("", at, false, "The API server does not answer: "+why)
	}
	s.lost = why
	for _, one := range s.all {
		one.missed = true
	}
}

// Found takes in that something can be seen.
func (s *Stories) Found(at time.Time) {
	if s.lost != "" {
		s.tell("", at, false, "The API server answers again")
	}
	s.lost = ""
}

func (s *Stories) of(event string) *Story {
	for _, one := range s.all {
		if one.asked.Event == event {
			return one
		}
	}
	return nil
}

func (s *Stories) tell(node string, at time.Time, step bool, text string) {
	if !s.begun {
		return
	}
	if len(s.all) == 1 {
		node = ""
	}
	s.log = append(s.log, Entry{After: at.Sub(s.began), Node: node, Text: text, Step: step})
}
