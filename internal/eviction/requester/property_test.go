// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// TestNothingIsAskedForOfOtherNodesAndNothingIsLeftBehind does things in any order, with
// processes that die between steps and a cache that is behind, and wants that no request
// is ever made for a pod that is not on the event's node, and that none is left once the
// event is over and the evictionrequest-controller has seen what was withdrawn.
func TestNothingIsAskedForOfOtherNodesAndNothingIsLeftBehind(t *testing.T) {
	names := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.addEvent(lifecyclev1alpha1.Claimed)
		t.Repeat(map[string]func(*rapid.T){
			"pod": func(t *rapid.T) {
				name := rapid.SampledFrom(names).Draw(t, "name")
				if rapid.Bool().Draw(t, "gone") {
					delete(w.pods, name)
					return
				}
				w.addPod(name, rapid.SampledFrom([]string{"n1", "n2", ""}).Draw(t, "node"), func(p *corev1.Pod) {
					if rapid.Bool().Draw(t, "static") {
						metav1.SetMetaDataAnnotation(&p.ObjectMeta, corev1.MirrorPodAnnotationKey, "hash")
					}
				})
			},
			"name": func(t *rapid.T) {
				if w.event != nil {
					w.name(rapid.SliceOf(rapid.SampledFrom(names)).Draw(t, "pods")...)
				}
			},
			"told": func(t *rapid.T) {
				w.answer(rapid.SampledFrom(names).Draw(t, "pod"), rapid.Bool().Draw(t, "evicted"), rapid.Bool().Draw(t, "failed"), rapid.SampledFrom([]string{"NoFurtherResponder", "EvictionInvalid"}).Draw(t, "reason"))
			},
			"steps": func(t *rapid.T) {
				w.newPass()
				for range rapid.IntRange(0, 6).Draw(t, "steps") {
					steps := Next(w.facts(), w.now)
					if len(steps) == 0 {
						return
					}
					w.mustPerform(t, rapid.SampledFrom(steps).Draw(t, "step"))
				}
			},
			"later":   func(t *rapid.T) { w.now = w.now.Add(time.Minute) },
			"mode":    func(t *rapid.T) { w.askForAll() },
			"restart": func(*rapid.T) { w.restart() },
			"cache":   func(t *rapid.T) { w.behind = rapid.Bool().Draw(t, "behind") },
			"over": func(t *rapid.T) {
				switch rapid.IntRange(0, 2).Draw(t, "how") {
				case 0:
					w.event = nil
				case 1:
					w.addEvent(lifecyclev1alpha1.Failed)
				default:
					w.addEvent(lifecyclev1alpha1.Claimed)
					w.event.DeletionTimestamp = &metav1.Time{}
				}
				w.behind = false
				w.mustBeClean(t)
				w.addEvent(lifecyclev1alpha1.Claimed)
			},
		})
	})
}

// mustPerform does a step, and looks at what is asked for with its own eyes.
func (w *world) mustPerform(t *rapid.T, step Step) {
	if ask, is := step.(Ask); is {
		name := ask.Request.Spec.Target.Pod.Name
		seen := w.seen[reference(name)].Pod
		if seen == nil || seen.UID != ask.Request.Spec.Target.Pod.UID || seen.Spec.NodeName != "n1" || len(seen.Annotations) > 0 {
			t.Fatalf("asks for %s, which is %+v", name, seen)
		}
	}
	if err := w.perform(step); err != nil {
		w.newPass() // as the queue does after an error
	}
}

func (w *world) mustBeClean(t *rapid.T) {
	w.restart()
	for range 3 {
		w.pass()
		for _, r := range w.requests {
			w.answer(r.Spec.Target.Pod.Name, false, true, "CanceledDueToNoRequesters")
		}
	}
	if len(w.requests) > 0 {
		t.Fatalf("the event is over, and there are requests: %v", w.requests)
	}
}
