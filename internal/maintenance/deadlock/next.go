// SPDX-License-Identifier: Apache-2.0

package deadlock

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Next finds the deadlocks. It gives the same whatever the order of what it gets.
func Next(f Facts, now time.Time) Decision {
	s := survey(f, now)
	d := Decision{Ask: len(s.still) > 1, Wake: s.wake}
	s.eliminate()
	for _, nodes := range s.cycles() {
		d.Deadlocks = append(d.Deadlocks, Deadlock{Nodes: nodes, Budgets: s.between(nodes), GivesWay: s.givesWay(nodes)})
	}
	return d
}

// state is what is known, in order.
type state struct {
	now  time.Time
	wake time.Time
	// still are the drains that stand still, by node; what is eliminated is taken out.
	still map[string]Drain
	// starved are the budgets that are, with the nodes on which their pods could run.
	starved map[string][]string
}

func survey(f Facts, now time.Time) *state {
	s := &state{now: now, still: map[string]Drain{}, starved: map[string][]string{}}
	for _, d := range f.Drains {
		if len(d.Refused) > 0 && s.longEnough(d.Since) {
			s.still[d.Node] = d
		}
	}
	for _, b := range f.Budgets {
		if fits := s.fits(b); len(fits) > 0 {
			s.starved[b.Name] = fits
		}
	}
	return s
}

// longEnough says whether something has been so for as long as it takes; else, it is looked
// at again when it has.
func (s *state) longEnough(since time.Time) bool {
	at := since.Add(Patience)
	if !s.now.Before(at) {
		return true
	}
	if s.wake.IsZero() || at.Before(s.wake) {
		s.wake = at
	}
	return false
}

// fits are the nodes on which the pods of a starved budget could run; of others, none.
func (s *state) fits(b Budget) (nodes []string) {
	waiting := 0
	for _, w := range b.Waiting {
		if s.longEnough(w.Since) {
			waiting++
			nodes = append(nodes, w.Fits...)
		}
	}
	if b.Allowed > 0 || b.Expected <= b.Desired || b.Expected-waiting > b.Desired {
		return nil
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// eliminate takes out, one after the other, the drains for which there is hope.
func (s *state) eliminate() {
	for changed := true; changed; {
		changed = false
		for node, d := range s.still {
			if !slices.ContainsFunc(d.Refused, s.hopeless) {
				delete(s.still, node)
				changed = true
			}
		}
	}
}

// hopeless says whether a budget is starved, and no node comes back on which its pods could run.
func (s *state) hopeless(budget string) bool {
	fits, starved := s.starved[budget]
	return starved && !slices.ContainsFunc(fits, func(node string) bool { _, stays := s.still[node]; return !stays })
}

// waitsFor are the nodes that a node waits for, itself left out.
func (s *state) waitsFor(node string) (others []string) {
	for _, budget := range s.still[node].Refused {
		if !s.hopeless(budget) {
			continue
		}
		for _, other := range s.starved[budget] {
			if other != node {
				others = append(others, other)
			}
		}
	}
	return others
}

// between are the budgets for whose sake the nodes wait for each other.
func (s *state) between(nodes []string) (budgets []string) {
	for _, node := range nodes {
		for _, budget := range s.still[node].Refused {
			awaits := func(other string) bool { return other != node && slices.Contains(nodes, other) }
			if s.hopeless(budget) && slices.ContainsFunc(s.starved[budget], awaits) {
				budgets = append(budgets, budget)
			}
		}
	}
	slices.SortFunc(budgets, strings.Compare)
	return slices.Compact(budgets)
}

// cycles are the nodes that wait for each other, of which none waits for another cycle: when
// that one is resolved, they may be as well.
func (s *state) cycles() (all [][]string) {
	reach := map[string]map[string]bool{}
	for node := range s.still {
		reach[node] = s.reach(node)
	}
	inCycle := map[string]bool{}
	for node, reached := range reach {
		inCycle[node] = reached[node]
	}
	for _, node := range slices.Sorted(maps.Keys(s.still)) {
		if !inCycle[node] {
			continue
		}
		var cycle []string
		last := true
		for other := range reach[node] {
			switch {
			case reach[other][node]:
				cycle = append(cycle, other)
			case inCycle[other]:
				last = false
			}
		}
		slices.Sort(cycle)
		if last && cycle[0] == node { // each once
			all = append(all, cycle)
		}
	}
	return all
}

// reach are the nodes that a node waits for, and those that they wait for.
func (s *state) reach(node string) map[string]bool {
	reached, next := map[string]bool{}, s.waitsFor(node)
	for len(next) > 0 {
		other := next[len(next)-1]
		next = next[:len(next)-1]
		if !reached[other] {
			reached[other] = true
			next = append(next, s.waitsFor(other)...)
		}
	}
	return reached
}

// givesWay is the node of a cycle that does: if the others come back then.
func (s *state) givesWay(cycle []string) string {
	var may []Drain
	for _, node := range cycle {
		others := func(other string) bool { return other != node && !s.still[other].ComesBack }
		if d := s.still[node]; d.MayGiveWay && !slices.ContainsFunc(cycle, others) {
			may = append(may, d)
		}
	}
	if len(may) == 0 {
		return ""
	}
	return slices.MinFunc(may, func(a, b Drain) int {
		return cmp.Or(cmp.Compare(a.Gone, b.Gone), b.Began.Compare(a.Began), strings.Compare(a.Node, b.Node))
	}).Node
}
