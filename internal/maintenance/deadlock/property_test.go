// SPDX-License-Identifier: Apache-2.0

package deadlock

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	"pgregory.net/rapid"
)

// TestADeadlockIsOneAndEnds wants of each deadlock that is found in any situation that its
// nodes stand still for long enough, and that none of the nodes on which the pods that one of
// them waits for could run goes on; that one of its nodes gives way at most, and one that
// may; that it is the same whatever the order of the facts; and that it ends: if who gives
// way is returned, and its room is taken, and so on, none is left after so many nodes.
func TestADeadlockIsOneAndEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		now := epoch.Add(2 * time.Minute)
		for range len(f.Drains) + 1 {
			d := Next(f, now)
			checkOrder(t, f, d, now)
			if len(d.Deadlocks) == 0 {
				return
			}
			yields := ""
			for _, each := range d.Deadlocks {
				checkDeadlock(t, f, each, now)
				if yields == "" {
					yields = each.GivesWay
				}
			}
			if yields == "" {
				return // all that are left need somebody
			}
			f.Drains = slices.DeleteFunc(f.Drains, func(d Drain) bool { return d.Node == yields })
			f.takeRoom(yields)
		}
		t.Errorf("there are deadlocks after each node has given way: %+v", Next(f, now).Deadlocks)
	})
}

func checkOrder(t *rapid.T, f Facts, want Decision, now time.Time) {
	f.Drains = rapid.Permutation(f.Drains).Draw(t, "drains")
	f.Budgets = rapid.Permutation(f.Budgets).Draw(t, "budgets")
	if diff := cmp.Diff(want, Next(f, now)); diff != "" {
		t.Errorf("in another order (-want +got):\n%s", diff)
	}
}

func checkDeadlock(t *rapid.T, f Facts, found Deadlock, now time.Time) {
	if len(found.Nodes) < 2 || len(found.Budgets) == 0 {
		t.Errorf("%+v is none", found)
	}
	if found.GivesWay != "" && (!slices.Contains(found.Nodes, found.GivesWay) || !f.drain(found.GivesWay).MayGiveWay) {
		t.Errorf("of %v, %s gives way", found.Nodes, found.GivesWay)
	}
	for _, node := range found.Nodes {
		if !f.still(node, now) {
			t.Errorf("%s is in a deadlock, and goes on", node)
		}
		if !slices.ContainsFunc(f.drain(node).Refused, func(budget string) bool { return f.stuck(budget, now) }) {
			t.Errorf("each budget of %s lets go when a node comes back that goes on", node)
		}
	}
}

func (f Facts) drain(node string) Drain {
	return f.Drains[slices.IndexFunc(f.Drains, func(d Drain) bool { return d.Node == node })]
}

func (f Facts) still(node string, now time.Time) bool {
	d := f.drain(node)
	return len(d.Refused) > 0 && now.Sub(d.Since) >= Patience
}

// stuck says of a budget that its pods wait, and that no node goes on on which they could run.
func (f Facts) stuck(budget string, now time.Time) bool {
	for _, b := range f.Budgets {
		if b.Name != budget || b.Status.DisruptionsAllowed > 0 {
			continue
		}
		for _, w := range b.Waiting {
			if slices.ContainsFunc(w.Fits, func(node string) bool { return now.Sub(w.Since) >= Patience && !f.still(node, now) }) {
				return false
			}
		}
		return len(b.Waiting) > 0
	}
	return false
}

// takeRoom has the pods that could run on a node run there.
func (f *Facts) takeRoom(node string) {
	for i := range f.Budgets {
		b := &f.Budgets[i]
		b.Waiting = slices.DeleteFunc(slices.Clone(b.Waiting), func(w Waiting) bool { return slices.Contains(w.Fits, node) })
	}
}

func drawFacts(t *rapid.T) (f Facts) {
	var nodes []string
	names := []string{"x", "y", "z"}
	for i := range rapid.IntRange(0, 6).Draw(t, "nodes") {
		d := Drain{
			Node:       fmt.Sprintf("n%d", i),
			Since:      epoch.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, 90 * time.Second}).Draw(t, "since")),
			Gone:       rapid.IntRange(0, 2).Draw(t, "gone"),
			MayGiveWay: rapid.IntRange(0, 3).Draw(t, "may give way") > 0,
			ComesBack:  rapid.IntRange(0, 5).Draw(t, "comes back") > 0,
		}
		if rapid.IntRange(0, 4).Draw(t, "still") > 0 {
			d.Refused = rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 2, rapid.ID[string]).Draw(t, "refused")
		}
		nodes, f.Drains = append(nodes, d.Node), append(f.Drains, d)
	}
	if len(nodes) == 0 {
		return f
	}
	for _, name := range names {
		b := Budget{Name: name, Status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: rapid.Int32Range(1, 2).Draw(t, "desired")}}
		for range rapid.IntRange(0, 2).Draw(t, "waiting") {
			b.Waiting = append(b.Waiting, Waiting{
				Since: epoch.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, 90 * time.Second}).Draw(t, "since")),
				Fits:  rapid.SliceOfNDistinct(rapid.SampledFrom(nodes), 0, len(nodes), rapid.ID[string]).Draw(t, "fits"),
			})
		}
		f.Budgets = append(f.Budgets, b)
	}
	return f
}
