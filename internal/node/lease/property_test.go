// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"maps"
	"slices"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/nodelease"
)

// TestNobodyIsLetPassWithoutTheLease: under any sequence of what others do, and crashes, no
// event that takes the node out passes without a lease that is ours, nobody else's lease is
// touched, nothing is written twice, and it all comes to rest with what is promised.
func TestNobodyIsLetPassWithoutTheLease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(5, 60).Draw(t, "length") {
			disturb(t, w)
			// A crash at any point: what it has not done yet, it does later, if at all.
			for range rapid.IntRange(0, 6).Draw(t, "steps") {
				if !step(t, w) {
					break
				}
			}
		}
		for range 20 {
			if !step(t, w) {
				settled(t, w)
				abandon(t, w)
				return
			}
		}
		t.Fatal("it does not come to rest")
	})
}

// step performs one step, and holds it against what must never be done.
func step(t *rapid.T, w *world) bool {
	f := w.facts()
	decision := Next(f, w.now)
	if decision.Step == nil {
		if !decision.Wake.IsZero() && !decision.Wake.After(w.now) {
			t.Fatalf("it asks to be woken at %s, and it is %s", decision.Wake, w.now)
		}
		return false
	}
	held, is := nodelease.Read(w.lease, w.now)
	switch s := decision.Step.(type) {
	case Acquire:
		if is {
			t.Fatalf("takes the lease of %q", held.Holder)
		}
	case Renew, Release:
		if !is || held.Holder != nodelease.Slipway {
			t.Fatalf("%s: the lease is that of %q", describe(s), held.Holder)
		}
	case RemoveGate:
		ours := is && held.Holder == nodelease.Slipway && held.Valid(w.now)
		requesters := is && held.User != "" && held.User == s.Event.Spec.RequestedBy
		if !ours && !requesters && !lifecycleevent.ReturnsNode(s.Event, f.Transitions) {
			t.Fatalf("%s: the lease is that of %q", describe(s), held.Holder)
		}
	case WriteStatus:
		if slices.Equal(s.Status.Conditions, s.Event.Status.Conditions) {
			t.Fatalf("writes what is there: %s", describe(s))
		}
	}
	w.apply(decision.Step)
	return true
}

// disturb does one thing that is not the controller's doing.
func disturb(t *rapid.T, w *world) {
	names := slices.Sorted(maps.Keys(w.events))
	event := ""
	if len(names) > 0 {
		event = rapid.SampledFrom(names).Draw(t, "event")
	}
	switch what := rapid.IntRange(0, 11).Draw(t, "disturbance"); {
	case what <= 2:
		addRandomEvent(t, w)
	case what == 3:
		w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "clock")))
	case what == 4:
		holder := rapid.SampledFrom([]string{"upgrade", "fencing", "kubeadmin-ada"}).Draw(t, "holder")
		if w.take(holder, "p", time.Duration(rapid.Int64Range(int64(time.Second), int64(time.Hour)).Draw(t, "for"))) {
			w.record(rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(t, "writer"))
		}
	case what == 5 && w.lease != nil && holder(w) != nodelease.Slipway:
		w.give()
	case what == 6:
		w.lease = nil
	case what == 7 && w.node == nil:
		w.register()
	case what == 7 && rapid.IntRange(0, 3).Draw(t, "goes") == 0:
		w.remove()
	case what == 8:
		w.cordoned = nil
	case event == "":
	case what == 9:
		w.change(event, func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: w.now} })
	case what == 10:
		delete(w.events, event)
	case pending(w.events[event]) && len(w.events[event].Spec.Gates) == 0 && w.events[event].DeletionTimestamp == nil:
		w.claim(event)
		w.cordon(event)
	case len(w.events[event].Spec.Gates) > 0:
		w.removeGate(event, rapid.SampledFrom([]string{lifecyclev1alpha1.GateGuards, "example.com/approval"}).Draw(t, "gate"))
	default:
		w.end(event)
	}
}

func holder(w *world) string {
	held, _ := nodelease.Read(w.lease, w.now)
	return held.Holder
}

func addRandomEvent(t *rapid.T, w *world) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
	if w.events[name] != nil {
		return
	}
	var gates []string
	for _, gate := range []string{lifecyclev1alpha1.GateLease, lifecyclev1alpha1.GateGuards, "example.com/approval"} {
		if rapid.Bool().Draw(t, gate) {
			gates = append(gates, gate)
		}
	}
	e := w.addEvent(name, rapid.SampledFrom([]string{"drain", "drain", "return"}).Draw(t, "transition"), gates...)
	e.UID, e.Spec.RequestedBy = types.UID(name), rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(t, "requester")
}

// settled: at rest, the lease is Slipway's where it is needed and free, and not Slipway's
// where it is not; the Node names the holder, and each event says who that is.
func settled(t *rapid.T, w *world) {
	f := w.facts()
	if f.Node == nil {
		return
	}
	held, is := nodelease.Read(w.lease, w.now)
	ours := is && held.Holder == nodelease.Slipway
	if needed(f) && !is || ours && !needed(f) && !returning(f) {
		t.Fatalf("the lease is held: %v (%q), and needed: %v", is, held.Holder, needed(f))
	}
	if _, said := w.node.Annotations[nodelease.Annotation]; said != is {
		t.Fatalf("the lease is held: %v, and the Node says so: %v", is, said)
	}
	for _, e := range f.Events {
		c := apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionLeaseHeld)
		passes := ours || is && held.User != "" && held.User == e.Spec.RequestedBy
		switch {
		case !needs(f, e):
		case c == nil || (c.Status == metav1.ConditionTrue) != passes:
			t.Fatalf("event %s says %v, and the lease is Slipway's or its requester's: %v", e.Name, c, passes)
		case passes && gated(e):
			t.Fatalf("event %s waits, and the lease is Slipway's or its requester's", e.Name)
		}
	}
}

// abandon has all others go away, and all events end: then nobody holds the lease, and
// nothing is said of it.
func abandon(t *rapid.T, w *world) {
	if w.node == nil {
		w.register()
	}
	w.events, w.cordoned = map[string]*lifecyclev1alpha1.LifecycleEvent{}, nil
	if holder(w) != nodelease.Slipway {
		w.lease = nil
	}
	for step(t, w) {
	}
	if held, is := nodelease.Read(w.lease, w.now); is {
		t.Fatalf("%q still has the lease", held.Holder)
	}
	if text, said := w.node.Annotations[nodelease.Annotation]; said {
		t.Fatalf("the Node still says %s", text)
	}
}
