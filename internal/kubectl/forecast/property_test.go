// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// TestEachNodeHasItsPlace forecasts rollouts of any nodes: each that is selected is in one batch
// or among those left, no batch is larger than maxUnavailable, a node of the control plane is
// alone, a domain is finished before the next, and nobody waits without a reason.
func TestEachNodeHasItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, selected, begun := drawWorld(t)
		m := w.facts.Maintenances.Maintenances[0]
		f, err := Predict(w.facts)
		if err != nil {
			t.Fatal(err)
		}
		places := map[string]int{}
		for _, b := range f.Batches {
			if most := limit(m.Spec.Rollout, len(selected)); len(b.Nodes) == 0 || len(b.Nodes) > most {
				t.Errorf("batch %d has %d nodes of %d", b.Number, len(b.Nodes), most)
			}
			for _, n := range b.Nodes {
				places[n.Name]++
				if n.ControlPlane && len(b.Nodes) > 1 {
					t.Errorf("batch %d has %s of the control plane, and %d others", b.Number, n.Name, len(b.Nodes)-1)
				}
			}
		}
		for _, l := range f.Left {
			places[l.Name]++
		}
		for _, name := range selected {
			if places[name] != 1 {
				t.Errorf("node %s has %d places", name, places[name])
			}
		}
		if len(places) != len(selected) || f.Unselected != len(w.facts.Maintenances.Nodes)-len(selected) {
			t.Errorf("%d nodes have places, %d are selected, and %d are said not to be", len(places), len(selected), f.Unselected)
		}
		if waiting := f.count(LeftWaiting); (waiting > 0) != (f.Held != nil) {
			t.Errorf("%d wait because of %v", waiting, f.Held)
		}
		checkDomains(t, m.Spec.Rollout, f, begun)
		checkRows(t, f)
	})
}

// limit is how many nodes may be out, as the reference has it.
func limit(r *slipwayv1alpha1.MaintenanceRollout, nodes int) int {
	switch {
	case r.MaxUnavailable == nil && r.PerDomain != nil:
		return 3 * int(*r.PerDomain) // there are three domains
	case r.MaxUnavailable == nil:
		return 1
	case r.MaxUnavailable.Type == intstr.Int:
		return int(r.MaxUnavailable.IntVal)
	default:
		return max(1, nodes/2) // 50%
	}
}

// checkDomains wants that batches of workers do not come back to a domain that they have left. A node that has
// begun may be of any domain, which then comes first.
func checkDomains(t *rapid.T, r *slipwayv1alpha1.MaintenanceRollout, f Forecast, begun bool) {
	if begun || r.TopologyKey == "" || r.PerDomain != nil {
		return
	}
	var order []string
	for _, b := range f.Batches {
		for _, n := range b.Nodes {
			if !n.ControlPlane {
				order = append(order, n.Domain)
			}
		}
	}
	order = slices.Compact(order)
	if sorted := slices.Compact(slices.Sorted(slices.Values(order))); len(sorted) != len(order) {
		t.Errorf("the domains come in the order %q", order)
	}
}

// checkRows wants that what is folded says the same.
func checkRows(t *rapid.T, f Forecast) {
	next, names := 1, 0
	for _, row := range f.Rows(false) {
		if row.From != next || row.To < row.From {
			t.Errorf("row %d to %d comes after batch %d", row.From, row.To, next-1)
		}
		next = row.To + 1
		names += len(row.Names)
	}
	for _, row := range f.Rows(true) {
		names -= len(row.Names)
	}
	if next != len(f.Batches)+1 || names != 0 {
		t.Errorf("%d batches are rows up to %d, with %d nodes more or less", len(f.Batches), next-1, names)
	}
}

func drawWorld(t *rapid.T) (w *world, selected []string, begun bool) {
	w = newWorld()
	for _, app := range []string{"web", "db"} {
		w.budget(app, int32(rapid.IntRange(0, 2).Draw(t, "allowed "+app)), 3)
	}
	for i := range rapid.IntRange(1, 8).Draw(t, "nodes") {
		name := fmt.Sprintf("w%d", i)
		words := []string{"zone=" + rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone of "+name)}
		spared := rapid.IntRange(0, 7).Draw(t, name+" is not selected") == 0
		if spared {
			words = append(words, "not-selected")
		} else {
			selected = append(selected, name)
		}
		for _, word := range []string{"control-plane", "down", "returned", "out", "failed-back", "failed", "out-for=others", "pods=web:1", "pods=db:2"} {
			if rapid.IntRange(0, 5).Draw(t, name+" is "+word) == 0 && (!spared || word != "out") {
				words = append(words, word)
				begun = begun || word == "failed" || strings.HasPrefix(word, "out")
			}
		}
		if err := w.node(name, words...); err != nil {
			t.Fatal(err)
		}
	}
	m := w.maintenance()
	m.Spec.Rollout = drawRollout(t)
	w.facts.Maintenances.Maintenances = append(w.facts.Maintenances.Maintenances, m)
	return w, selected, begun
}

func drawRollout(t *rapid.T) *slipwayv1alpha1.MaintenanceRollout {
	r := &slipwayv1alpha1.MaintenanceRollout{Batches: rapid.Bool().Draw(t, "batches")}
	if rapid.Bool().Draw(t, "maxUnavailable") {
		r.MaxUnavailable = new(intstr.FromInt32(int32(rapid.IntRange(1, 4).Draw(t, "most"))))
		if rapid.IntRange(0, 3).Draw(t, "percent") == 0 {
			r.MaxUnavailable = new(intstr.FromString("50%"))
		}
	}
	if rapid.Bool().Draw(t, "topologyKey") {
		r.TopologyKey = "zone"
		if rapid.Bool().Draw(t, "perDomain") {
			r.PerDomain = new(int32(rapid.IntRange(1, 3).Draw(t, "per domain")))
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "pauses") == 0 {
		r.PauseAfter = new(int32(rapid.IntRange(1, 4).Draw(t, "pauseAfter")))
	}
	if rapid.Bool().Draw(t, "failures are let pass") {
		r.FailureThreshold = new(int32(20))
	}
	return r
}
