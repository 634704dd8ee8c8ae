// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// TestTargetsGrowAndEverythingIsDone has maintenances and nodes come and go while nodes
// drain. It wants that no node ever gets less than it has; and that when nothing more
// happens but that nodes reach what they are given, each maintenance is done in the end.
func TestTargetsGrowAndEverythingIsDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		t.Repeat(w.actions(func() []slipwayv1alpha1.DrainTarget { return drawEntries(t) }))
		rounds := 1
		for _, m := range w.maintenances {
			rounds += len(m.Plan)
		}
		for range rounds {
			w.checkedStep(t)
			for _, n := range w.nodes {
				n.Reached = true
			}
		}
		for name, p := range w.checkedStep(t).Progress {
			if done := len(w.maintenances[name].Nodes) > 0; p.Done != done || p.Message != "" {
				t.Errorf("%s: done is %v, and it says %q", name, p.Done, p.Message)
			}
		}
	})
}

func (w *world) actions(entries func() []slipwayv1alpha1.DrainTarget) map[string]func(*rapid.T) {
	maintenance := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	node := rapid.SampledFrom([]string{"n1", "n2", "n3", "n4", "n5"})
	return map[string]func(*rapid.T){
		"begin": func(t *rapid.T) {
			if name := maintenance.Draw(t, "name"); w.maintenances[name] == nil {
				w.begin(name, planOf(t, entries()), rapid.SliceOfNDistinct(node, 0, 3, rapid.ID).Draw(t, "nodes")...)
			}
		},
		"complete": func(t *rapid.T) { delete(w.maintenances, maintenance.Draw(t, "name")) },
		"join": func(t *rapid.T) {
			if name := maintenance.Draw(t, "name"); w.maintenances[name] != nil {
				w.join(name, node.Draw(t, "node"))
			}
		},
		"leave": func(t *rapid.T) {
			if name := maintenance.Draw(t, "name"); w.maintenances[name] != nil {
				w.leave(name, node.Draw(t, "node"))
			}
		},
		"reach": func(t *rapid.T) {
			if n := w.nodes[node.Draw(t, "node")]; n != nil {
				n.Reached = rapid.IntRange(0, 4).Draw(t, "reached") > 0
			}
		},
		"step": func(t *rapid.T) { w.checkedStep(t) },
	}
}

// checkedStep is a step, in any order of maintenances and nodes, that takes nothing back.
func (w *world) checkedStep(t *rapid.T) Result {
	before := map[string]Node{}
	for name, n := range w.nodes {
		before[name] = *n
	}
	r := w.step()
	for name, n := range before {
		now := w.nodes[name]
		if !cover(entriesOf(now.Targets), entriesOf(n.Targets)) {
			t.Fatalf("%s had %s, and gets %s", name, showAll(n.Targets), showAll(now.Targets))
		}
		if len(now.Targets) == 0 {
			t.Fatalf("%s has no targets: its drain would move everything", name)
		}
	}
	for name, p := range r.Progress {
		if (p.Message == "") != (p.Done || len(w.maintenances[name].Nodes) == 0) {
			t.Fatalf("%s: done is %v, and it says %q", name, p.Done, p.Message)
		}
	}
	return r
}

// TestTheOrderOfFactsDoesNotMatter shuffles what is known.
func TestTheOrderOfFactsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		t.Repeat(w.actions(func() []slipwayv1alpha1.DrainTarget { return drawEntries(t) }))
		var maintenances []Maintenance
		for _, name := range slices.Sorted(maps.Keys(w.maintenances)) {
			maintenances = append(maintenances, *w.maintenances[name])
		}
		var nodes []Node
		for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
			nodes = append(nodes, *w.nodes[name])
		}
		want := Next(maintenances, nodes)
		got := Next(rapid.Permutation(maintenances).Draw(t, "maintenances"), rapid.Permutation(nodes).Draw(t, "nodes"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// planOf is what Complete makes of entries, or sometimes the entries alone, as in the KEP's
// examples.
func planOf(t *rapid.T, entries []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	if len(entries) > 0 && rapid.Bool().Draw(t, "as it is") {
		return entries
	}
	return Complete(entries)
}

func drawEntries(t *rapid.T) []slipwayv1alpha1.DrainTarget {
	return rapid.SliceOfN(rapid.Custom(drawEntry), 0, 5).Draw(t, "entries")
}

func drawEntry(t *rapid.T) slipwayv1alpha1.DrainTarget {
	e := slipwayv1alpha1.DrainTarget{
		PodType:     rapid.SampledFrom([]slipwayv1alpha1.PodType{slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet}).Draw(t, "type"),
		PodPriority: new(rapid.SampledFrom([]int32{-5, 0, 1000, 2000, 2000000000, math.MaxInt32}).Draw(t, "priority")),
	}
	if app := rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(t, "app"); app != "" {
		e.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	return e
}

// TestCompleteIsAPlan wants that what Complete gives is in order, without repetition, covers
// what the entries cover and all pods of each type that they name, and completes to itself.
func TestCompleteIsAPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		plan := Complete(entries)
		steps := entriesOf(plan)
		for i := 1; i < len(steps); i++ {
			if steps[i-1].level().compare(steps[i].level()) >= 0 {
				t.Errorf("%s comes before %s", show(plan[i-1]), show(plan[i]))
			}
		}
		for _, e := range append(entriesOf(entries), entry{podType: slipwayv1alpha1.PodTypeDefault, priority: math.MaxInt32}) {
			if !slices.ContainsFunc(steps, func(s entry) bool { return s.level() == e.level() }) {
				t.Errorf("%v is not in the plan", e)
			}
			if !cover(steps, []entry{{podType: e.podType, priority: math.MaxInt32}}) {
				t.Errorf("pods of type %s are left", e.podType)
			}
		}
		if diff := cmp.Diff(plan, Complete(rapid.Permutation(plan).Draw(t, "again"))); diff != "" {
			t.Error(diff)
		}
	})
}
