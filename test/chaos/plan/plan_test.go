// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func plans(t *rapid.T) Plan {
	return New(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 60).Draw(t, "drains"))
}

func TestTheSameSeedGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plans(t)
		if diff := cmp.Diff(p, New(p.Seed, p.Drains)); diff != "" {
			t.Errorf("it is another one:\n%s", diff)
		}
	})
}

func TestAnotherSeedGivesAnotherPlan(t *testing.T) {
	seen := map[string]uint64{}
	for seed := range uint64(100) {
		p := New(seed, 30)
		p.Seed = 0
		if other, same := seen[p.String()]; same {
			t.Errorf("seeds %d and %d give the same", seed, other)
		}
		seen[p.String()] = seed
	}
}

func TestDrainsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, drains := plans(t), 0
		for _, r := range p.Rounds {
			drains += len(r.out())
		}
		if drains != p.Drains {
			t.Errorf("there are %d drains, want %d:\n%s", drains, p.Drains, p)
		}
	})
}

func TestNoRoundTakesOutTooMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for i, r := range plans(t).Rounds {
			out := r.out()
			if len(out) > Out {
				t.Errorf("round %d takes out %v", i+1, out)
			}
			slices.Sort(out)
			if len(slices.Compact(slices.Clone(out))) != len(out) {
				t.Errorf("round %d takes a node out twice: %v", i+1, out)
			}
			for _, j := range r.Jobs {
				if j.What == Evict && slices.Contains(out, j.Nodes[0]) {
					t.Errorf("round %d evicts the pods of node %d twice", i+1, j.Nodes[0])
				}
			}
		}
	})
}

// TestEveryMomentComes: a fault that waits for more than its round has would be none.
func TestEveryMomentComes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for i, r := range plans(t).Rounds {
			comes := map[Seen]int{}
			for _, j := range r.Jobs {
				if j.What != Evict {
					comes[Claimed] += len(j.Nodes)
					comes[Ended] += len(j.Nodes)
				}
				if j.What != Cancel && j.What != Drive && j.What != Claim {
					comes[Evicted] += len(j.Nodes) * PodsOfANode
				}
			}
			for _, f := range r.Faults {
				if f.After.Count < 1 || f.After.Count > comes[f.After.Seen] {
					t.Errorf("round %d: %s, and there are %d", i+1, f, comes[f.After.Seen])
				}
			}
		}
	})
}

// TestEverythingHappensInARun: in as many drains as each change goes through.
func TestEverythingHappensInARun(t *testing.T) {
	jobs := map[What]bool{}
	rapid.Check(t, func(t *rapid.T) {
		p := New(rapid.Uint64().Draw(t, "seed"), 30)
		kinds, manners, modes := map[Kind]bool{}, map[Manner]bool{}, map[bool]bool{}
		for _, r := range p.Rounds {
			modes[r.Central] = true
			for _, f := range r.Faults {
				kinds[f.Kind] = true
			}
			for _, j := range r.Jobs {
				jobs[j.What] = true
				manners[j.Manner] = true
			}
		}
		delete(manners, "")
		if len(modes) != 2 || len(manners) != 6 {
			t.Errorf("it has %d modes and the manners %v:\n%s", len(modes), manners, p)
		}
		for _, kind := range Kinds {
			if !kinds[kind] {
				t.Errorf("nothing has the fault %s:\n%s", kind, p)
			}
		}
	})
	if len(jobs) != 6 {
		t.Errorf("asked for are only %v", jobs)
	}
}

// TestNoFaultEndsWhoIsLookedAtForLeaks: an agent and a controller are never killed, and that
// controller does not stand still for longer than it may lead.
func TestNoFaultEndsWhoIsLookedAtForLeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for i, r := range plans(t).Rounds {
			for _, f := range r.Faults {
				eldest := f.Process == Eldest || f.Process == Controllers
				if eldest && (f.Kind == Kill || f.Kind == Freeze && f.For >= leaseOfLeader) {
					t.Errorf("round %d: %s", i+1, f)
				}
				if r.Central && f.Process >= 0 && f.Process < Controllers {
					t.Errorf("round %d has no agents: %s", i+1, f)
				}
			}
		}
	})
}

// TestAPlanCanBeRead: it is what a run prints first.
func TestAPlanCanBeRead(t *testing.T) {
	datadriven.RunTest(t, "testdata/plans", func(t *testing.T, d *datadriven.TestData) string {
		var seed, drains int
		d.ScanArgs(t, "seed", &seed)
		d.ScanArgs(t, "drains", &drains)
		return New(uint64(seed), drains).String()
	})
}
