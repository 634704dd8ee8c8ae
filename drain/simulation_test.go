// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func (w *world) answerOne(t *rapid.T, d *simulated) {
	if len(d.flying) == 0 {
		return
	}
	i := rapid.IntRange(0, len(d.flying)-1).Draw(t, "flight")
	w.land(d, i, w.serve(d.queue, d.flying[i].pod))
}

func (w *world) answerOverload(t *rapid.T, d *simulated) {
	if len(d.flying) == 0 {
		return
	}
	i := rapid.IntRange(0, len(d.flying)-1).Draw(t, "flight")
	w.land(d, i, answer{outcome: overloaded, refusal: &obstacle{reason: APIServerOverloaded}})
}

func (w *world) land(d *simulated, i int, a answer) {
	s := d.flying[i]
	d.flying = slices.Delete(d.flying, i, i+1)
	if s.budget != nil {
		if a.outcome == budgetRefused {
			d.queue.refused(s.budget, s.pod.Name)
		}
		d.queue.settle(s.budget.UID, s.counts && a.outcome == accepted)
	}
	d.learned(answered{answer: a, pod: s.pod, by: s.by}, w.clock.Now(), 0.5)
}

func (w *world) showPod() {
	if len(w.podEvents) > 0 {
		w.podEvents[0]()
		w.podEvents = w.podEvents[1:]
	}
}

func (w *world) showBudget() {
	if len(w.budgetEvents) > 0 {
		w.budgetEvents[0]()
		w.budgetEvents = w.budgetEvents[1:]
	}
}

func (w *world) showAll() {
	for len(w.podEvents)+len(w.budgetEvents) > 0 {
		w.showPod()
		w.showBudget()
	}
}

// replace starts a pod elsewhere for each that is missing.
func (w *world) replace(app string) {
	running := 0
	for _, p := range w.pods {
		if p.Labels["app"] == app && p.DeletionTimestamp == nil {
			running++
		}
	}
	for ; running < w.replicas[app]; running++ {
		w.start(app, "w3", false)
	}
}

func (w *world) setReady(t *rapid.T, ready bool) {
	if len(w.pods) == 0 {
		return
	}
	pod := rapid.SampledFrom(w.pods).Draw(t, "pod").DeepCopy()
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	if ready {
		pod.Status.Conditions[0].Status = corev1.ConditionTrue
	}
	w.write(pod)
}

func (w *world) endOne() {
	for _, p := range w.pods {
		if p.DeletionTimestamp != nil {
			w.remove(p)
			return
		}
	}
}

func (w *world) evictOne(t *rapid.T) {
	if len(w.pods) > 0 {
		w.serve(nil, rapid.SampledFrom(w.pods).Draw(t, "pod"))
	}
}

func (w *world) edit(t *rapid.T, app string) {
	if b := w.budget(app); b != nil {
		b = b.DeepCopy()
		b.Generation++
		b.Status.DesiredHealthy = int32(rapid.IntRange(0, w.replicas[app]).Draw(t, "desired"))
		w.writeBudget(b)
	}
}

func (w *world) second(t *rapid.T, app string) {
	name := app + "-too"
	if b := w.budget(name); b != nil {
		w.removeBudget(b)
		return
	}
	w.protect(name, app, int32(rapid.IntRange(0, w.replicas[app]).Draw(t, "desired")))
}
