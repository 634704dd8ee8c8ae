// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// TestEveryEventEndsOnce: from any state, under any sequence of crashes, answers,
// deletions and clock steps, each event has at most one terminal phase, skips none,
// and once the world behaves again, ends and leaves nothing behind.
func TestEveryEventEndsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for i, driver := range []string{"d", "e"} {
			w.transitions[driver] = lct(driver, fmt.Sprintf("start-%d", i), fmt.Sprintf("end-%d", i))
		}
		for range rapid.IntRange(1, 60).Draw(t, "length") {
			disturb(t, w)
			run(t, w, rapid.IntRange(0, 12).Draw(t, "steps"))
		}
		behave(t, w)
		if len(w.events) > 0 {
			t.Fatalf("events left: %v", slices.Sorted(maps.Keys(w.events)))
		}
	})
}

func lct(driver, start, end string) *lifecyclev1alpha1.LifecycleTransition {
	t := &lifecyclev1alpha1.LifecycleTransition{}
	t.Name = driver
	t.Spec = lifecyclev1alpha1.LifecycleTransitionSpec{Driver: driver, Start: start, End: end, AllNodes: new(true)}
	return t
}

// disturb does one thing to the world that is not the agent's doing.
func disturb(t *rapid.T, w *world) {
	names := slices.Sorted(maps.Keys(w.events))
	driver := rapid.SampledFrom([]string{"d", "e"}).Draw(t, "driver")
	switch rapid.IntRange(0, 11).Draw(t, "disturbance") {
	case 0, 1:
		name := rapid.SampledFrom([]string{"a", "b", "c", "x"}).Draw(t, "name")
		if w.events[name] == nil {
			addRandomEvent(t, w, name, driver)
		}
	case 2:
		if len(names) > 0 {
			w.deleteEvent(rapid.SampledFrom(names).Draw(t, "deleted"))
		}
	case 3:
		w.setDriver(driver, rapid.Bool().Draw(t, "registered"), rapid.Bool().Draw(t, "silent"))
	case 4:
		w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "clock")))
	case 5:
		w.crash()
	case 6:
		w.homeSince = w.now
	case 7:
		if len(names) > 0 {
			w.change(w.events[rapid.SampledFrom(names).Draw(t, "edited")], func(e *lifecyclev1alpha1.LifecycleEvent) {
				e.Generation++
				e.Spec.Gates = nil
			})
		}
	case 8:
		if len(names) > 0 {
			name := rapid.SampledFrom(names).Draw(t, "claimed by a third party")
			if e := w.events[name]; e.Status.ClaimStatus == lifecyclev1alpha1.Pending && e.DeletionTimestamp == nil {
				w.claimForeign(name, lifecyclev1alpha1.Claimed)
			}
		}
	default:
		answerRandomly(t, w)
	}
}

func addRandomEvent(t *rapid.T, w *world, name, driver string) {
	e := w.addEvent(name, driver)
	if rapid.IntRange(0, 4).Draw(t, "gated") == 0 {
		e.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: "g"}}
	}
	if rapid.IntRange(0, 9).Draw(t, "forged") == 0 {
		e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
	}
	if rapid.Bool().Draw(t, "sla") {
		e.Spec.SLA = slaOf(time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "sla")))
	}
}

func answerRandomly(t *rapid.T, w *world) {
	for _, uid := range inFlight(w) {
		switch rapid.IntRange(0, 4).Draw(t, "answer") {
		case 0:
			w.fail(uid)
		case 1:
			w.answer(uid, Answer{})
		default:
			state := rapid.SampledFrom([]string{"start-0", "start-1", "end-0", "end-1"}).Draw(t, "state")
			w.answer(uid, Answer{State: state, Waits: rapid.Bool().Draw(t, "waits")})
		}
	}
}

func inFlight(w *world) []types.UID {
	var uids []types.UID
	for _, uid := range slices.Sorted(maps.Keys(w.calls)) {
		if w.calls[uid].InFlight {
			uids = append(uids, uid)
		}
	}
	return uids
}

// run performs up to n steps, and may crash after any.
func run(t *rapid.T, w *world, n int) {
	for range n {
		decision := Next(w.facts(), w.now)
		if decision.Step == nil {
			return
		}
		admissible(t, w, decision.Step)
		w.perform(decision.Step)
		lawful(t, w)
	}
}

// admissible holds a step against what must never be done.
func admissible(t *rapid.T, w *world, step Step) {
	switch s := step.(type) {
	case CallDriver:
		if !protected(s.Event) {
			t.Fatalf("%s before the finalizer was set", w.describe(step))
		}
		if s.Event.Status.ClaimStatus.Terminal() && s.Kind != CallLastEnd {
			t.Fatalf("%s after the event has ended", w.describe(step))
		}
		if s.Kind != CallLastEnd && s.Event.DeletionTimestamp != nil {
			t.Fatalf("%s after the event was deleted", w.describe(step))
		}
	case WriteStatus:
		if s.Purpose != PurposeClaim {
			return
		}
		if len(s.Event.Spec.Gates) > 0 {
			t.Fatalf("claimed a gated event")
		}
		for _, other := range w.events {
			if other.Status.ClaimStatus == lifecyclev1alpha1.Claimed ||
				protected(other) && other.Status.ClaimedBy != nil {
				t.Fatalf("claimed %s while %s is being worked on", s.Event.Name, other.Name)
			}
		}
	}
}

// lawful holds the history of each event against the order of phases.
func lawful(t *rapid.T, w *world) {
	for uid, phases := range w.history {
		for i := 1; i < len(phases); i++ {
			from, to := phases[i-1], phases[i]
			ok := from == lifecyclev1alpha1.Pending && (to == lifecyclev1alpha1.Claimed || to == lifecyclev1alpha1.Failed) ||
				from == lifecyclev1alpha1.Claimed && to.Terminal()
			if !ok {
				t.Fatalf("event %s went from %s to %s", uid, from, to)
			}
		}
	}
}

// behave lets everybody do their part, until nothing is left to be done.
func behave(t *rapid.T, w *world) {
	for _, driver := range []string{"d", "e"} {
		w.setDriver(driver, true, false)
	}
	for _, e := range w.events {
		w.change(e, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.Gates = nil })
		if lifecycleevent.HasForeignClaim(e) {
			delete(w.events, e.Name) // its claimer has ended and deleted it
		}
	}
	for range 500 {
		run(t, w, 100)
		for _, uid := range inFlight(w) {
			w.answer(uid, Answer{State: endOf(w, uid)})
		}
		if len(w.events) == 0 {
			return
		}
		decision := Next(w.facts(), w.now)
		if decision.Step == nil && len(inFlight(w)) == 0 {
			if decision.Wake.IsZero() {
				t.Fatalf("stuck: %d events, no step, no time to wake", len(w.events))
			}
			w.now = decision.Wake
		}
	}
	t.Fatalf("does not come to an end: %d events", len(w.events))
}

func endOf(w *world, uid types.UID) string {
	for _, e := range w.events {
		if e.UID == uid {
			return e.Status.Driver.End
		}
	}
	return ""
}

func slaOf(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
