// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// TestNeverMoreOutThanAllowed begins nodes in any situation, and wants that those that are
// out are not more than are allowed, but for those that were out before; that two nodes of
// the control plane are never out because of it; and that there is a reason if nobody
// begins, and none if nobody waits.
func TestNeverMoreOutThanAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{drawFacts(t)}
		before := slices.Clone(w.facts.Nodes)
		d := Next(w.facts)
		w.begin(t, d)
		if got, most := count(w.facts.Nodes, out), max(allowed(w.facts), count(before, out)); got > most {
			t.Errorf("%d are out of %d", got, most)
		}
		if most := w.facts.Rollout.PerDomain; most != nil {
			for _, domain := range []string{"", "a", "b"} {
				in := func(n Node) bool { return out(n) && n.Domain == domain }
				if got, most := count(w.facts.Nodes, in), max(int(*most), count(before, in)); got > most {
					t.Errorf("%d are out of %d in domain %q", got, most, domain)
				}
			}
		}
		w.checkControlPlane(t, d)
		w.checkDomains(t, d)
		if waiting := count(w.facts.Nodes, func(n Node) bool { return n.State == Waiting }); (waiting > 0) != (d.Reason != "") || (d.Reason == "") != (d.Message == "") {
			t.Errorf("%d wait, and it says %s: %q", waiting, d.Reason, d.Message)
		}
	})
}

// checkControlPlane wants that only one node of it is out when one begins, and no worker is
// at work.
func (w *world) checkControlPlane(t *rapid.T, d Decision) {
	all := map[string]bool{}
	for _, name := range w.facts.ControlPlaneOut {
		all[name] = true
	}
	for _, n := range w.facts.Nodes {
		if n.ControlPlane && out(n) {
			all[n.Name] = true
		}
	}
	for _, name := range d.Begin {
		if !w.node(name).ControlPlane {
			continue
		}
		if len(all) != 1 {
			t.Errorf("%s begins, and of the control plane are out: %v", name, all)
		}
		if count(w.facts.Nodes, func(n Node) bool { return !n.ControlPlane && (n.State == Out || n.State == Waiting) }) > 0 {
			t.Errorf("%s begins before the workers are back", name)
		}
	}
}

// checkDomains wants that all that begin are of one domain, and no other has nodes at work
// that had none before.
func (w *world) checkDomains(t *rapid.T, d Decision) {
	if w.facts.Rollout.TopologyKey == "" || w.facts.Rollout.PerDomain != nil {
		return
	}
	for _, name := range d.Begin {
		if first := w.node(d.Begin[0]).Domain; w.node(name).Domain != first {
			t.Errorf("%s begins in domain %q besides %q", name, w.node(name).Domain, first)
		}
	}
}

// TestSomebodyBegins wants that while nobody is out and nothing brakes, somebody begins; and
// that a rollout in which everything returns comes to its end.
func TestSomebodyBegins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{drawFacts(t)}
		w.facts.PendingPods, w.facts.ControlPlaneOut, w.facts.Rollout.PauseAfter, w.facts.Rollout.FailureThreshold = 0, nil, nil, nil
		for i := range w.facts.Nodes {
			w.facts.Nodes[i].Down = false
			if state := &w.facts.Nodes[i].State; *state == Failed || *state == FailedBack || *state == HeldBack {
				*state = Waiting
			}
		}
		for range len(w.facts.Nodes) + 1 {
			atWork := func(n Node) bool { return n.State == Out }
			w.begin(t, Next(w.facts))
			if count(w.facts.Nodes, atWork) == 0 && count(w.facts.Nodes, func(n Node) bool { return n.State == Waiting }) > 0 {
				t.Fatalf("nobody begins: %+v", Next(w.facts))
			}
			for i, n := range w.facts.Nodes {
				if atWork(n) {
					w.facts.Nodes[i].State = Returned
				}
			}
		}
		if waiting := count(w.facts.Nodes, func(n Node) bool { return n.State != Returned }); waiting > 0 {
			t.Errorf("%d have not returned", waiting)
		}
	})
}

// TestTheOrderOfFactsDoesNotMatter shuffles what is known, and wants that what was decided
// stays as it is until something changes.
func TestTheOrderOfFactsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		want := Next(f)
		f.Nodes = rapid.Permutation(f.Nodes).Draw(t, "nodes")
		f.ControlPlaneOut = rapid.Permutation(f.ControlPlaneOut).Draw(t, "control plane")
		if diff := cmp.Diff(want, Next(f)); diff != "" {
			t.Error(diff)
		}
		w := &world{f}
		w.begin(t, want)
		if again := Next(w.facts); len(again.Begin) > 0 {
			t.Errorf("after %v begin %v", want.Begin, again.Begin)
		}
	})
}

// TestBudgetsAreAskedForWhereTheyMatter wants that where a decision does not ask for budgets,
// it is the same whatever they are.
func TestBudgetsAreAskedForWhereTheyMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		with := Next(f)
		if with.Budgets {
			return
		}
		for i := range f.Nodes {
			f.Nodes[i].Budgets = nil
		}
		if diff := cmp.Diff(with, Next(f)); diff != "" {
			t.Errorf("without budgets (-with +without):\n%s", diff)
		}
	})
}

func (w *world) begin(t *rapid.T, d Decision) {
	for _, name := range d.Begin {
		n := w.node(name)
		if n.State != Waiting {
			t.Fatalf("%s begins, and did not wait", name)
		}
		n.State = Out
	}
}

// out and allowed say for these tests what the fields of the API promise.
func out(n Node) bool { return n.Down || n.State == Out || n.State == Failed }

func allowed(f Facts) int {
	most := f.Rollout.MaxUnavailable
	switch {
	case most == nil && f.Rollout.PerDomain != nil:
		return len(f.Nodes)
	case most == nil:
		return 1
	case most.Type == intstr.Int:
		return most.IntValue()
	}
	percent := 0
	if _, err := fmt.Sscanf(most.StrVal, "%d%%", &percent); err != nil {
		panic(err)
	}
	return max(1, percent*len(f.Nodes)/100)
}

func count(nodes []Node, is func(Node) bool) (n int) {
	for _, node := range nodes {
		if is(node) {
			n++
		}
	}
	return n
}

func drawFacts(t *rapid.T) Facts {
	f := Facts{Rollout: drawRollout(t), PendingPods: rapid.SampledFrom([]int{0, 0, 0, 9, 10}).Draw(t, "pending")}
	down := rapid.SampledFrom([]bool{false, false, false, true})
	for i := range rapid.IntRange(0, 12).Draw(t, "count") {
		n := Node{
			Name:         fmt.Sprintf("n%02d", i),
			State:        rapid.SampledFrom([]State{Waiting, Waiting, Waiting, Out, Returned, Failed, FailedBack, HeldBack}).Draw(t, "state"),
			Domain:       rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "domain"),
			ControlPlane: down.Draw(t, "control plane"),
			Down:         down.Draw(t, "down"),
			Budgets:      rapid.SliceOfN(rapid.SampledFrom([]string{"shop/web", "shop/db", "x/y"}), 0, 2).Draw(t, "budgets"),
		}
		if n.ControlPlane && out(n) {
			f.ControlPlaneOut = append(f.ControlPlaneOut, n.Name)
		}
		f.Nodes = append(f.Nodes, n)
	}
	if down.Draw(t, "another") {
		f.ControlPlaneOut = append(f.ControlPlaneOut, "other")
	}
	return f
}

func drawRollout(t *rapid.T) slipwayv1alpha1.MaintenanceRollout {
	number := rapid.Ptr(rapid.Int32Range(1, 12), true)
	r := slipwayv1alpha1.MaintenanceRollout{
		TopologyKey:      rapid.SampledFrom([]string{"", "zone"}).Draw(t, "topology key"),
		Batches:          rapid.Bool().Draw(t, "batches"),
		PauseAfter:       number.Draw(t, "pause after"),
		FailureThreshold: number.Draw(t, "failure threshold"),
	}
	if r.TopologyKey != "" {
		r.PerDomain = number.Draw(t, "per domain")
	}
	switch rapid.IntRange(0, 2).Draw(t, "max unavailable") {
	case 1:
		r.MaxUnavailable = new(intstr.FromInt32(rapid.Int32Range(1, 12).Draw(t, "number")))
	case 2:
		r.MaxUnavailable = new(intstr.FromString(fmt.Sprintf("%d%%", rapid.IntRange(1, 100).Draw(t, "percent"))))
	}
	return r
}
