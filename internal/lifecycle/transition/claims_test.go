// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// server is an API server with all its past states of the events: a cache shows one of these.
type server struct {
	*world // its Node, and the time
	states []map[string]*lifecyclev1alpha1.LifecycleEvent
}

func (s *server) current() map[string]*lifecyclev1alpha1.LifecycleEvent {
	return s.states[len(s.states)-1]
}

// write changes an event, unless it has changed since it was seen. It returns whether it did.
func (s *server) write(seen *lifecyclev1alpha1.LifecycleEvent, change func(*lifecyclev1alpha1.LifecycleEvent)) bool {
	if s.current()[seen.Name] != seen {
		return false
	}
	after, changed := maps.Clone(s.current()), seen.DeepCopy()
	change(changed)
	if after[seen.Name] = changed; changed.Status.ClaimStatus.Terminal() && len(changed.Finalizers) == 0 {
		delete(after, seen.Name)
	}
	s.states = append(s.states, after)
	return true
}

// side is one of the two claimers of a node, with a cache that may be behind the server, but not behind its own writes.
type side struct {
	server   *server
	claimer  lifecyclev1alpha1.Claimer
	central  *Central
	driver   string
	shows    int // the state that the cache shows
	checking types.UID
	calls    map[types.UID]Call
	claim    *WriteStatus // decided on the server's state, and not written yet
}

func (s *side) next(events map[string]*lifecyclev1alpha1.LifecycleEvent) Step {
	return Next(Facts{
		NodeName: nodeName, Node: s.server.node, Claimer: s.claimer, Central: s.central,
		Events: slices.Collect(maps.Values(events)), Transitions: s.server.transitions, Calls: s.calls,
		Drivers: func(name string) Driver {
			return Driver{Registered: name == s.driver, Checking: s.checking, Ready: true}
		},
	}, s.server.now).Step
}

// step performs the next step, as package agent does: it decides a claim again on the server's state.
func (s *side) step() {
	if s.claim != nil {
		write := *s.claim
		s.claim = nil
		s.wrote(s.server.write(write.Event, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status = write.Status }))
		return
	}
	switch step := s.next(s.server.states[s.shows]).(type) {
	case WriteStatus:
		if step.Purpose != PurposeClaim {
			s.wrote(s.server.write(step.Event, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status = step.Status }))
			return
		}
		if live, ok := s.next(s.server.current()).(WriteStatus); ok && live.Purpose == PurposeClaim {
			s.claim = &live
		}
	case Protect:
		s.wrote(s.server.write(step.Event, func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
		}))
	case Unprotect:
		s.wrote(s.server.write(step.Event, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Finalizers = nil }))
	case MarkNode:
		s.server.mark(step.Conditions...)
	case CheckDriver:
		s.checking = step.Event.UID
	case CallDriver:
		s.calls[step.Event.UID] = Call{Kind: step.Kind, Answer: &Answer{State: step.Event.Status.Driver.End}, AnsweredKind: step.Kind}
	}
}

func (s *side) wrote(done bool) {
	if done {
		s.shows = len(s.server.states) - 1
	}
}

// TestTwoClaimersWorkOneAfterTheOther has the agent and the controller of a node act on caches that are behind, with any time
// between the last read and the write of a claim: the drivers of at most one event are called at a time, and all events end.
func TestTwoClaimersWorkOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		marked := lct("c", "begun", "done")
		marked.Annotations = map[string]string{lifecyclev1alpha1.RegisteredCentrallyAnnotation: "c"}
		api := &server{world: newWorld()}
		api.transitions["n"], api.transitions["c"] = lct("n", "begun", "done"), marked
		for i := range rapid.IntRange(2, 5).Draw(t, "events") {
			api.addEvent(fmt.Sprintf("e%d", i), rapid.SampledFrom([]string{"n", "c"}).Draw(t, "driver"))
		}
		api.states = append(api.states, api.events)
		sides := []*side{
			{server: api, claimer: claimer, driver: "n", calls: map[types.UID]Call{}},
			{server: api, claimer: controller, central: &Central{}, driver: "c", calls: map[types.UID]Call{}},
		}
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			s := rapid.SampledFrom(sides).Draw(t, "side")
			s.shows = rapid.IntRange(s.shows, len(api.states)-1).Draw(t, "shown")
			s.step()
			oneInWork(t, api.current())
		}
		for range 200 {
			for _, s := range sides {
				s.shows = len(api.states) - 1
				s.step()
				oneInWork(t, api.current())
			}
		}
		if len(api.current()) > 0 {
			t.Fatalf("%d events do not end: %+v", len(api.current()), slices.Collect(maps.Values(api.current()))[0].Status)
		}
	})
}

func oneInWork(t *rapid.T, events map[string]*lifecyclev1alpha1.LifecycleEvent) {
	var names []string
	for _, e := range events {
		if protected(e) {
			names = append(names, e.Name)
		}
	}
	if len(names) > 1 {
		t.Fatalf("in work at the same time: %q", names)
	}
}
