// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

// TestWhateverHappens: the machine is let go only when an event of this boot's has drained it,
// and is cordoned for that; and when all is over, nothing of it is left on the Node.
func TestWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.skew = rapid.SampledFrom([]time.Duration{0, -time.Hour, -time.Minute, time.Hour}).Draw(t, "skew")
		w.cordoned = append(w.cordoned, cordons.Owner{Event: "drain-w1", UID: "somebody"})
		step := func() {
			if host := w.hostFacts(); host != nil && rapid.Bool().Draw(t, "host first") {
				if s := Hold(*host, w.machineNow()).Step; s != nil {
					checkRelease(t, w, s)
					w.applyHost(s)
					return
				}
			}
			if s := Next(w.facts(), w.now); s != nil {
				checkDeadline(t, s)
				w.apply(s)
			}
		}
		actions := []func(){
			step, step, step, step, w.shutdown, w.callOff, w.boot, w.claim,
			func() { w.setReady(true) },
			func() { w.hostRuns, w.begun = !w.hostRuns, time.Time{} },
			func() { w.end(lifecyclev1alpha1.Succeeded) },
			func() { w.end(lifecyclev1alpha1.SlaExpired) },
			func() { w.now = w.now.Add(time.Minute) },
			func() { w.stopping = w.preparing },
		}
		for range rapid.IntRange(1, 60).Draw(t, "length") {
			w.now = w.now.Add(time.Millisecond)
			rapid.SampledFrom(actions).Draw(t, "action")()
		}
		checkOver(t, w)
	})
}

func checkRelease(t *rapid.T, w *world, s HostStep) {
	if _, releases := s.(ReleaseLock); !releases {
		return
	}
	d := DrainedOn(w.node)
	if d == nil || d.Outcome != lifecyclev1alpha1.Succeeded || !w.isCordonedFor(string(d.UID)) {
		t.Fatalf("the machine is let go, and was not drained: %v, cordoned for %v", d, w.cordoned)
	}
}

// checkDeadline: the drain has as long as logind waits, whatever the clocks say, and whoever asks
// for it how late.
func checkDeadline(t *rapid.T, s Step) {
	if create, is := s.(Create); is && create.Event.Spec.SLA.Duration != delayMax {
		t.Fatalf("the drain may take %s, and logind waits for %s", create.Event.Spec.SLA.Duration, delayMax)
	}
}

func (w *world) isCordonedFor(uid string) bool {
	for _, owner := range w.cordoned {
		if string(owner.UID) == uid {
			return true
		}
	}
	return false
}

// checkOver has the machine boot, if it must, and everybody do what is theirs.
func checkOver(t *rapid.T, w *world) {
	if w.preparing {
		w.boot()
	}
	w.hostRuns, w.begun = true, time.Time{}
	w.setReady(true)
	for range 5 {
		settle(w)
		w.claim()
		w.end(lifecyclev1alpha1.Succeeded)
	}
	if said := settle(w); said != "nothing\n" {
		t.Fatalf("it does not come to an end: %s", said)
	}
	if w.event() != nil || AnnouncedOn(w.node) != nil || DrainedOn(w.node) != nil || len(w.cordoned) != 1 || !w.locked {
		t.Fatalf("left: event %v, Node %v, cordoned for %v, locked %v", w.event(), w.node.Annotations, w.cordoned, w.locked)
	}
	for _, c := range w.node.Status.Conditions {
		if (c.Type == corev1.NodeGracefulNodeShutdownInProgress || c.Type == corev1.NodeDrained) && c.Status != corev1.ConditionFalse {
			t.Fatalf("the Node says %s", said([]corev1.NodeCondition{c}))
		}
	}
}
