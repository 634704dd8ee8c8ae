// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"errors"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// TestNeverTwoBelieveThatTheyHold has holders acquire, renew and give back in any
// interleaving of their reads and writes, while time goes on and their clocks are set to and
// fro within the skew. Processes crash, and writes arrive that were sent long ago. It wants
// that never two may go on at the same time; and that an administrator's lease is nobody
// else's until it was given back.
func TestNeverTwoBelieveThatTheyHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld("fwup", "rebooter")
		if rapid.Bool().Draw(t, "administrator") { // else the lease would soon be theirs
			w = newWorld("fwup", "rebooter", "kubeadmin-alice")
		}
		for _, p := range w.all {
			p.set(t)
		}
		actions := map[string]func(*rapid.T){
			"": w.check,
			"time": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
			},
			"end":   w.comeAtTheEnd,
			"clock": func(t *rapid.T) { w.anyone(t).set(t) },
			"read":  func(t *rapid.T) { w.anyone(t).begin(t, w) },
			"write": func(t *rapid.T) { w.anyone(t).finish(w) },
			"swap":  func(t *rapid.T) { p := w.anyone(t); p.begin(t, w); p.finish(w) },
			"crash": func(t *rapid.T) { p := w.anyone(t); p.pending, p.held = nil, Held{} },
		}
		for range 20 { // a lease has some history until it matters
			t.Repeat(actions)
		}
	})
}

// longest is for how long leases are taken here, at most.
const longest = 10 * time.Second

// world is a server that compares and swaps, and those who use it.
type world struct {
	now     time.Time
	lease   *coordinationv1.Lease
	version int
	all     []*process
}

// process is a holder.
type process struct {
	name string
	// ahead is how far its clock is: of all clocks, one may be right.
	ahead time.Duration
	// held is what it believes.
	held Held
	// pending is what it is about to write.
	pending *coordinationv1.Lease
}

func newWorld(names ...string) *world {
	w := &world{now: noon}
	for _, name := range names {
		w.all = append(w.all, &process{name: name})
	}
	return w
}

func (w *world) anyone(t *rapid.T) *process { return rapid.SampledFrom(w.all).Draw(t, "process") }

func (p *process) clock(w *world) time.Time { return w.now.Add(p.ahead) }

// set sets its clock: all clocks are within the skew of each other.
func (p *process) set(t *rapid.T) {
	p.ahead = rapid.SampledFrom([]time.Duration{0, Skew / 2, Skew}).Draw(t, "ahead")
}

// comeAtTheEnd is what matters: somebody looks about when the lease ends, by its own clock.
func (w *world) comeAtTheEnd(t *rapid.T) {
	p := w.anyone(t)
	if held, _ := Read(w.lease, w.now); !held.Until.IsZero() {
		past := rapid.SampledFrom([]time.Duration{0, 1, Skew, Skew + 1}).Draw(t, "past its end")
		if at := held.Until.Add(past - p.ahead); at.After(w.now) {
			w.now = at
		}
	}
	p.decide(acquisition(worker1(), p.name, "", longest), w)
	p.finish(w)
}

// begin reads, and decides what to write.
func (p *process) begin(t *rapid.T, w *world) {
	d := time.Duration(rapid.IntRange(1, int(longest/time.Second)).Draw(t, "seconds")) * time.Second
	var do change
	switch rapid.SampledFrom([]string{"acquire", "renew", "release"}).Draw(t, "wish") {
	case "acquire":
		do = acquisition(worker1(), p.name, "", d)
	case "renew":
		do = renewal(p.name, "", d)
	default:
		do = release(p.name)
		p.held = Held{} // it stops before it gives back
	}
	p.decide(do, w)
}

// decide is what is done between a read and the write.
func (p *process) decide(do change, w *world) {
	changed, err := do(w.lease.DeepCopy(), p.clock(w))
	if err != nil {
		changed = nil
	}
	p.pending = changed
}

// finish writes, if nobody was faster.
func (p *process) finish(w *world) {
	written := p.pending
	if p.pending = nil; written == nil || written.ResourceVersion != w.current() {
		return
	}
	w.version++
	w.lease = written.DeepCopy()
	w.lease.ResourceVersion = w.current()
	p.held, _ = Read(w.lease, p.clock(w)) // nobody's, if it was given back
}

// current is the version on the server; empty: there is no Lease.
func (w *world) current() string {
	if w.version == 0 {
		return ""
	}
	return fmt.Sprint(w.version)
}

func (w *world) check(t *rapid.T) {
	var at []string
	for _, p := range w.all {
		if p.held.Valid(p.clock(w)) {
			at = append(at, p.name)
		}
	}
	if len(at) > 1 {
		t.Fatalf("%q are at work at the same time; the Lease is %+v", at, w.lease.Spec)
	}
	// Whoever looks at a lease that is an administrator's is refused, ever.
	if held, is := Read(w.lease, w.now); held.Administrator {
		_, err := acquisition(worker1(), "somebody", "", longest)(w.lease, w.now.Add(1e5*time.Hour))
		if _, taken := errors.AsType[*TakenError](err); !is || !taken {
			t.Fatalf("the lease of %s is to be had: %v", held.Holder, err)
		}
	}
	if len(at) == 1 {
		w.agreed(t, at[0])
	}
}

// agreed wants that what one believes is what the server has.
func (w *world) agreed(t *rapid.T, at string) {
	if holder := valueOf(w.lease.Spec.HolderIdentity); holder != at {
		t.Fatalf("%s is at work, and the Lease is of %q", at, holder)
	}
	if len(w.lease.OwnerReferences) != 1 || w.lease.OwnerReferences[0].UID != "uid-1" {
		t.Fatalf("the owners are %v", w.lease.OwnerReferences)
	}
}

// A lease that is written as the server stores it says the same as before: times are cut to
// microseconds there, never rounded up.
func TestWhatTheServerStoresIsNeverLonger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := noon.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "at")))
		d := time.Duration(rapid.Int64Range(int64(time.Second), int64(MaxDuration)).Draw(t, "duration"))
		lease := Take(nil, worker1(), "fwup", "", d, at)
		text, err := lease.Spec.RenewTime.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var stored metav1.MicroTime
		if err := stored.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		before, _ := Read(lease, at)
		lease.Spec.RenewTime = &stored
		after, is := Read(lease, at)
		if !is || after.Until.After(before.Until) || before.Until.Sub(after.Until) >= time.Microsecond {
			t.Fatalf("it was until %s, and is until %s", before.Until, after.Until)
		}
		if got := after.Until.Sub(stored.Time); got < d || got >= d+time.Second {
			t.Fatalf("%s became %s", d, got)
		}
	})
}
