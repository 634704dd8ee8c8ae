// SPDX-License-Identifier: Apache-2.0

package deadlock

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

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
