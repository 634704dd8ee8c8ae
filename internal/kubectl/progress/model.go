// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Asked is an event that is followed.
type Asked struct {
	Node, Event string
	// Expected means that the requester names the event by [Model.Expect]: Model ignores an older
	// event of the same name. Otherwise the first event of the name counts.
	Expected bool
}

// Model contains the news of one watch about some events.
type Model struct {
	all  []*Item // in the order of New
	lost string  // why the API server does not answer now
	pods bool    // pods are watched as well

	begun   bool
	began   time.Time
	log     []Entry
	changes []Change
}

// Entry is one line of the log.
type Entry struct {
	// After is the time since the beginning.
	After time.Duration
	// Node that it happened to. Empty where there is only one.
	Node string
	Text string
	// Step marks one of the few steps that every event takes.
	Step bool
}

// New returns a model of some events.
func New(asked ...Asked) *Model {
	s := &Model{}
	for _, a := range asked {
		s.all = append(s.all, newItem(s, a))
	}
	return s
}

// Begin ends the initial list. The log reports only current events of it.
func (s *Model) Begin(at time.Time) {
	s.begun, s.began = true, at
	for _, one := range s.all {
		one.begin(at)
	}
}

// WatchPods makes the log report each pod, instead of counts.
func (s *Model) WatchPods() { s.pods = true }

// Log returns the changes since Begin, in order. It only grows.
func (s *Model) Log() []Entry { return s.log }

// Changes returns the log for programs, in order. It only grows.
func (s *Model) Changes() []Change { return s.changes }

// Over reports whether all events have ended.
func (s *Model) Over(now time.Time) bool {
	return !slices.ContainsFunc(s.all, func(one *Item) bool { return !one.Over(now) })
}

// All returns the events in the order of New.
func (s *Model) All() []*Item { return s.all }

// Expect names the event that is followed: as it was created, or found.
func (s *Model) Expect(event *lifecyclev1alpha1.LifecycleEvent, at time.Time) {
	for _, one := range s.about(event) {
		one.expect(event, at)
	}
}

// Saw processes the current state of an object.
func (s *Model) Saw(object client.Object, at time.Time) {
	s.Found(at)
	for _, one := range s.about(object) {
		switch o := object.(type) {
		case *lifecyclev1alpha1.LifecycleEvent:
			one.sawEvent(o, false, at)
		case *corev1.Node:
			one.sawNode(o, at)
		case *corev1.Pod:
			one.sawPod(o, at)
		}
	}
}

// Gone processes the last state of an object that was deleted.
func (s *Model) Gone(object client.Object, at time.Time) {
	s.Found(at)
	for _, one := range s.about(object) {
		switch o := object.(type) {
		case *lifecyclev1alpha1.LifecycleEvent:
			one.sawEvent(o, true, at)
		case *corev1.Pod:
			one.podGone(o, at)
		}
	}
}

// about returns the items that an object is about.
func (s *Model) about(object client.Object) []*Item {
	return slices.DeleteFunc(slices.Clone(s.all), func(one *Item) bool {
		switch o := object.(type) {
		case *lifecyclev1alpha1.LifecycleEvent:
			return one.asked.Event != o.Name
		case *corev1.Pod:
			return one.asked.Node != o.Spec.NodeName
		default:
			return one.asked.Node != o.GetName()
		}
	})
}

// ReadNode takes in a Node that was read after all that was seen, or nil if it cannot be
// read. See [Item.MissedEnd].
func (s *Model) ReadNode(name string, node *corev1.Node, at time.Time) {
	if node != nil {
		s.Saw(node, at)
	}
	for _, one := range s.all {
		if one.asked.Node == name && one.MissedEnd() {
			one.read = true
			one.change(at)
		}
	}
}

// Lost takes in that the API server does not answer, and why.
func (s *Model) Lost(why string, at time.Time) {
	if s.lost == "" {
		s.tell("", at, false, "The API server does not answer: "+why)
	}
	s.lost = why
	for _, one := range s.all {
		one.missed = true
	}
}

// Found takes in that the API server answers.
func (s *Model) Found(at time.Time) {
	if s.lost != "" {
		s.tell("", at, false, "The API server answers again")
	}
	s.lost = ""
}

func (s *Model) tell(node string, at time.Time, step bool, text string) {
	if s.begun {
		s.log = append(s.log, s.entry(node, at, step, text))
	}
}

func (s *Model) entry(node string, at time.Time, step bool, text string) Entry {
	if len(s.all) == 1 {
		node = ""
	}
	return Entry{After: at.Sub(s.began), Node: node, Text: text, Step: step}
}
