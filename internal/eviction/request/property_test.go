// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"pgregory.net/rapid"
)

// TestWhateverHappensItSettlesAndNothingIsRefused does things in any order, with steps
// done or left undone in between, and wants that the server refuses no write, that one
// Eviction runs at a time, and that in the end each requester knows how it stands.
func TestWhateverHappensItSettlesAndNothingIsRefused(t *testing.T) {
	names := []string{"a", "b", "c"}
	responders := []string{"example.com/x", "example.com/y", Evictor}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		anyOf := func(all []string, label string) string { return rapid.SampledFrom(all).Draw(t, label) }
		add := func(uid string) {
			if err := w.addPod(uid, anyOf([]string{"", "example.com/x:20000", "example.com/x:1000,example.com/y:1000"}, "responders"), "", false); err != nil {
				t.Fatal(err)
			}
		}
		add("u1")
		do := map[string]func(*rapid.T){
			"ask": func(*rapid.T) {
				if name := anyOf(names, "request"); w.requests[name] == nil {
					w.ask(name, "example.com/"+anyOf([]string{"x", "q", "r"}, "requester"), "u1", rapid.Bool().Draw(t, "withdrawn"))
				}
			},
			"change": func(t *rapid.T) {
				if name := anyOf(names, "request"); w.requests[name] != nil {
					w.intent(name, rapid.SampledFrom([]evictionv1alpha1.EvictionRequestIntent{
						evictionv1alpha1.EvictionRequestIntentEviction, evictionv1alpha1.EvictionRequestIntentWithdrawn,
					}).Draw(t, "intent"))
				}
			},
			"take back": func(*rapid.T) { w.takeBack(anyOf(names, "request")) },
			"respond": func(t *rapid.T) {
				// What the server refuses a responder is its own affair.
				_ = w.respond(anyOf(responders, "responder"), rapid.Bool().Draw(t, "heartbeat"), rapid.Bool().Draw(t, "complete"), "")
			},
			"foreign": func(*rapid.T) {
				if len(w.evictions) < 5 {
					w.foreign(fmt.Sprintf("foreign-%d", len(w.evictions)))
				}
			},
			"pod": func(t *rapid.T) {
				switch rapid.IntRange(0, 3).Draw(t, "fate") {
				case 0:
					w.pod = nil
				case 1:
					add("u2")
				case 2:
					if w.pod != nil {
						w.pod.Status.Phase = corev1.PodSucceeded
					}
				}
			},
			"clock": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 1500).Draw(t, "seconds")) * time.Second)
			},
			"step": func(t *rapid.T) {
				if d := Next(w.facts(nil), w.now); d.Step != nil {
					mustPerform(t, w, d.Step)
				}
			},
			"remember": func(*rapid.T) { w.before = w.copyOfRequests() },
			"step by another, which is behind": func(t *rapid.T) {
				if w.before != nil {
					w.mustKeepWhatIsKnown(t)
				}
			},
			"": func(t *rapid.T) { w.mustSettle(t) },
		}
		t.Repeat(do)
	})
}

func mustPerform(t *rapid.T, w *world, step Step) {
	if err := w.perform(step); err != nil {
		t.Fatalf("%s: %v", describe(step), err)
	}
}

// mustKeepWhatIsKnown does one step by the requests that there were before, and wants that it
// says of no requester what is over.
func (w *world) mustKeepWhatIsKnown(t *rapid.T) {
	w.behind = w.before
	defer func() { w.behind = nil }()
	d := Next(w.facts(nil), w.now)
	if confirm := asks(d.Step); confirm != nil {
		d = Next(w.facts(confirm), w.now)
	}
	if s, writes := d.Step.(WriteEviction); writes {
		live := derive(w.facts(&Confirm{Requests: []string{"all"}}), w.now).requesters(s.Eviction)
		for _, r := range s.Eviction.Status.Requesters {
			if i := indexOf(s.Status.Requesters, r.Name); s.Status.Requesters[i] != r && !slices.Contains(live, s.Status.Requesters[i]) {
				t.Fatalf("%s is taken back: %s", r.Name, describe(d.Step))
			}
		}
	}
	if err := w.perform(d.Step); err != nil && !errors.Is(err, errStale) {
		t.Fatalf("%s: %v", describe(d.Step), err)
	}
}

func indexOf(all []evictionv1alpha1.Requester, name string) int {
	return slices.IndexFunc(all, func(r evictionv1alpha1.Requester) bool { return r.Name == name })
}

func (w *world) mustSettle(t *rapid.T) {
	if said := w.settle(); strings.Contains(said, "refused") || strings.Contains(said, "does not settle") {
		t.Fatal(said)
	}
	running := 0
	for _, e := range w.evictions {
		if !hasEnded(e) {
			running++
		}
	}
	if running > 1 {
		t.Fatalf("%d Evictions run", running)
	}
	for name, r := range w.requests {
		if !observed(r) || len(r.Status.Conditions) != 2 {
			t.Fatalf("%s has not been told", name)
		}
		if running == 0 && !final(r.Status.Conditions) {
			t.Fatalf("%s waits for nothing: %s", name, w.show())
		}
	}
	if len(w.requests) == 0 && len(w.evictions) > 0 {
		t.Fatalf("nobody asks, and there are Evictions: %s", w.show())
	}
}
