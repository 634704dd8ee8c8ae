// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// pod is what a target covers or not. These tests read targets as a drain does, and share no
// code for it with what they judge.
type pod struct {
	podType  slipwayv1alpha1.PodType
	priority int32
	app      string
}

func (p pod) coveredBy(targets []slipwayv1alpha1.DrainTarget) bool {
	return slices.ContainsFunc(targets, func(t slipwayv1alpha1.DrainTarget) bool {
		selector := labels.Everything()
		if t.PodSelector != nil {
			var err error
			if selector, err = metav1.LabelSelectorAsSelector(t.PodSelector); err != nil {
				panic(err)
			}
		}
		return t.PodType == p.podType && (t.PodPriority == nil || p.priority <= *t.PodPriority) && selector.Matches(labels.Set{"app": p.app})
	})
}

// stepOf is the first step of a plan that moves the pod, or the number of steps.
func (p pod) stepOf(plan []slipwayv1alpha1.DrainTarget) int {
	for i := range plan {
		if p.coveredBy(plan[i : i+1]) {
			return i
		}
	}
	return len(plan)
}

func drawPod(t *rapid.T) pod {
	return pod{
		podType:  rapid.SampledFrom([]slipwayv1alpha1.PodType{slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet}).Draw(t, "type"),
		priority: rapid.SampledFrom([]int32{-7, 0, 500, 1500, 9000, 2000000000, 2000001000, math.MaxInt32}).Draw(t, "priority"),
		app:      rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "app"),
	}
}

// populated has pods on its nodes, which leave when they are covered, each when it likes.
type populated struct {
	*world
	pods map[string][]pod
}

func populate(t *rapid.T) populated {
	w := populated{newWorld(), map[string][]pod{}}
	for i := range 5 {
		w.pods[fmt.Sprintf("n%d", i+1)] = rapid.SliceOfN(rapid.Custom(drawPod), 0, 6).Draw(t, "pods")
	}
	return w
}

// leave lets some of the pods leave that are covered; all, if nobody is to tarry.
func (w populated) letLeave(t *rapid.T, tarrying bool) {
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[name]
		w.pods[name] = slices.DeleteFunc(slices.Clone(w.pods[name]), func(p pod) bool {
			return p.coveredBy(n.Targets) && (!tarrying || rapid.Bool().Draw(t, "leaves"))
		})
		n.Reached = !slices.ContainsFunc(w.pods[name], func(p pod) bool { return p.coveredBy(n.Targets) })
	}
}

// checkDone wants that nothing is left of the plan of a maintenance that is done.
func (w populated) checkDone(t *rapid.T, r Result) {
	for name, progress := range r.Progress {
		m := w.maintenances[name]
		for _, n := range m.Nodes {
			for _, p := range w.pods[n] {
				if progress.Done && p.stepOf(m.Plan) < len(m.Plan) {
					t.Fatalf("%s is done, and %s has %v", name, n, p)
				}
			}
		}
	}
}

// TestPodsLeaveInTheOrderOfEachPlan begins with some maintenances, of which only one names
// selectors if they share nodes, and wants that no pod is to leave a node while pods are
// left, on any node of a maintenance of this node, that an earlier step of its plan moves.
func TestPodsLeaveInTheOrderOfEachPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := populate(t)
		count := rapid.IntRange(1, 4).Draw(t, "maintenances")
		for i := range count {
			entries := drawEntries(t)
			for k := range entries {
				if count > 1 {
					entries[k].PodSelector = nil
				}
			}
			nodes := rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(w.pods))), 1, 4, rapid.ID).Draw(t, "nodes")
			w.begin(string(rune('a'+i)), Complete(entries), nodes...)
		}
		for round := 0; ; round++ {
			r := w.step()
			w.checkOrder(t)
			w.checkDone(t, r)
			if done(r) {
				return
			}
			if round == 200 {
				t.Fatalf("it does not end: %s", w.show(r))
			}
			w.letLeave(t, round < 40)
		}
	})
}

func done(r Result) bool {
	for _, p := range r.Progress {
		if !p.Done {
			return false
		}
	}
	return true
}

func (w populated) checkOrder(t *rapid.T) {
	for _, m := range w.maintenances {
		earliest := len(m.Plan)
		for _, n := range m.Nodes {
			for _, p := range w.pods[n] {
				earliest = min(earliest, p.stepOf(m.Plan))
			}
		}
		for _, n := range m.Nodes {
			for _, p := range w.pods[n] {
				if step := p.stepOf(m.Plan); p.coveredBy(w.nodes[n].Targets) && step > earliest && step < len(m.Plan) {
					t.Fatalf("%s: %v is to leave %s at step %s, while pods are left of step %s",
						m.Name, p, n, show(m.Plan[step]), show(m.Plan[earliest]))
				}
			}
		}
	}
}

// TestDoneMeansThatThePodsAreGone has maintenances come and go, with any plans.
func TestDoneMeansThatThePodsAreGone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := populate(t)
		actions := w.actions(func() []slipwayv1alpha1.DrainTarget { return nil })
		actions["begin"] = func(t *rapid.T) {
			if name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"); w.maintenances[name] == nil {
				w.begin(name, Complete(drawEntries(t)), rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(w.pods))), 0, 3, rapid.ID).Draw(t, "nodes")...)
			}
		}
		actions["reach"] = func(t *rapid.T) { w.letLeave(t, true) }
		actions["step"] = func(t *rapid.T) { w.checkDone(t, w.checkedStep(t)) }
		t.Repeat(actions)
	})
}
