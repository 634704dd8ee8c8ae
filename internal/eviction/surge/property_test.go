// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNoReadyPodIsLostBecauseOfUs does things in any order: turns begin, end and are taken
// back, replacements become Ready or cannot be scheduled, the process dies, and whatever was
// let go is evicted, at once or later. It wants that there are never fewer Ready pods than
// before; and that when nobody wants anything any more, all is as it was.
func TestNoReadyPodIsLostBecauseOfUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replicas := rapid.IntRange(1, 5).Draw(t, "replicas")
		w := newWorld(int32(replicas))
		w.deployment.Spec.ProgressDeadlineSeconds = new(int32(60))
		for _, name := range w.names()[1:] {
			if rapid.IntRange(0, 5).Draw(t, "unready") == 0 {
				w.setReady(name, false)
			}
		}
		before := w.ready()
		check := func(t *rapid.T) {
			if now := w.ready(); now < before {
				t.Fatalf("%d pods are Ready, and %d were", now, before)
			}
		}
		t.Repeat(w.actions(check))
		for _, name := range w.names() {
			delete(w.turns, name)
			w.standings[name] = NoEviction
		}
		w.settle()
		check(t)
		if len(w.pods) != replicas {
			t.Errorf("there are %d pods", len(w.pods))
		}
		for name, p := range w.pods {
			if Marked(p) || !w.facts().controls(p) || DeploymentOwner(p) != nil || len(p.Labels) != 2 {
				t.Errorf("pod %s is not as it was: %v", name, p.ObjectMeta)
			}
		}
	})
}

// actions are what can happen. Our steps and the ReplicaSet controller's come one at a time.
func (w *world) actions(check func(*rapid.T)) map[string]func(*rapid.T) {
	anyPod := func(t *rapid.T) string { return rapid.SampledFrom(w.names()).Draw(t, "pod") }
	return map[string]func(*rapid.T){
		"": check,
		"turn": func(t *rapid.T) {
			if name := anyPod(t); w.turns[name] == nil && w.standings[name] != LetGo && w.standings[name] != Interrupted {
				w.turns[name], w.standings[name] = &Run{Since: w.now}, Awaited
			}
		},
		"withdraw": func(t *rapid.T) {
			name := anyPod(t)
			delete(w.turns, name)
			w.standings[name] = NoEviction
		},
		"interrupt": func(t *rapid.T) {
			if name := anyPod(t); w.standings[name] == Awaited {
				delete(w.turns, name)
				w.standings[name] = Interrupted
			}
		},
		"restart": func(t *rapid.T) {
			w.turns = map[string]*Run{}
			// That a turn was over may not have been written.
			if name := anyPod(t); w.standings[name] == LetGo && rapid.Bool().Draw(t, "unwritten") {
				w.standings[name] = Awaited
			}
		},
		"get Ready": func(t *rapid.T) { w.setReady(anyPod(t), true) },
		"evict": func(t *rapid.T) {
			// One that was given back is its budget's affair.
			if name := anyPod(t); w.standings[name] == LetGo && isReleased(w.pods[name]) {
				delete(w.pods, name)
				delete(w.standings, name)
			}
		},
		"time": func(t *rapid.T) {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
		},
		"step": func(*rapid.T) {
			if d := Next(w.facts(), w.now); d.Step != nil {
				w.perform(d.Step)
			}
		},
		"ReplicaSet": func(*rapid.T) { w.reconcile() },
	}
}
