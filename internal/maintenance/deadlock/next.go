// SPDX-License-Identifier: Apache-2.0

package deadlock

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
)

// Patience is the time without a change after which drains count as deadlocked. A replacement that can
// run takes far less time.
const Patience = 60 * time.Second

// Facts are the state of the cluster.
type Facts struct {
	// Drains are the nodes that are out of service, with or without a running drain.
	Drains []Drain
	// Budgets are the known PodDisruptionBudgets of Drains.
	Budgets []Budget
}

// Drain is a node that is out of service.
type Drain struct {
	Node string
	// Refused are the budgets, as namespace/name, that refuse the evictions of all remaining pods. Empty:
	// pods leave, something else blocks the drain, or it has ended.
	Refused []string
	// Since is the start of the latest refusal.
	Since time.Time
	// Began is the start of the drain.
	Began time.Time
	// Gone counts the pods that have left.
	Gone int
	// MayGiveWay: the drain can be canceled, and the node uncordoned.
	MayGiveWay bool
	// ComesBack: the node returns by itself after its drain.
	ComesBack bool
}

// Budget is a PodDisruptionBudget.
type Budget struct {
	Name   string
	Status policyv1.PodDisruptionBudgetStatus
	// Waiting are its unschedulable pods.
	Waiting []Waiting
}

// Waiting is an unschedulable pod.
type Waiting struct {
	// Since is the time since which it is unschedulable.
	Since time.Time
	// Fits are the nodes of Drains on which it could run if they were uncordoned.
	Fits []string
}

// Decision is the result of [Next].
type Decision struct {
	// Deadlocks are independent of each other.
	Deadlocks []Deadlock
	// Ask: Next needs Facts.Budgets.
	Ask bool
	// Wake is the time of the next decision if no fact changes before; zero: never.
	Wake time.Time
}

// Deadlock is a cycle of nodes that wait for each other.
type Deadlock struct {
	// Nodes, two or more, and the Budgets that they wait for, sorted.
	Nodes, Budgets []string
	// GivesWay is the node that has to return, so that the other drains can end. Empty: no node may, or
	// it would not help.
	GivesWay string
}

// Next finds the deadlocks. The order of the facts does not matter.
func Next(f Facts, now time.Time) Decision {
	s := survey(f, now)
	d := Decision{Ask: len(s.still) > 1, Wake: s.wake}
	s.connect()
	for _, nodes := range s.cycles() {
		d.Deadlocks = append(d.Deadlocks, Deadlock{Nodes: nodes, Budgets: s.between(nodes), GivesWay: s.givesWay(nodes)})
	}
	return d
}

type state struct {
	now  time.Time
	wake time.Time
	// still are the drains that stand still, by node; after connect, only those in a deadlock.
	still map[string]Drain
	// starved are the starved budgets, with the nodes on which their pods could run.
	starved map[string][]string
	// waits are the nodes that a node waits for, each with the budget.
	waits map[string][]wait
}

type wait struct{ node, budget string }

func survey(f Facts, now time.Time) *state {
	s := &state{now: now, still: map[string]Drain{}, starved: map[string][]string{}, waits: map[string][]wait{}}
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

// longEnough reports whether a state has lasted for Patience. If it has not, the next decision is due at
// the end of that time.
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

// fits returns the nodes on which the pods of a starved budget could run; for other budgets, none.
func (s *state) fits(b Budget) (nodes []string) {
	waiting := int32(0)
	for _, w := range b.Waiting {
		if s.longEnough(w.Since) {
			waiting++
			nodes = append(nodes, w.Fits...)
		}
	}
	status := b.Status
	if status.DisruptionsAllowed > 0 || status.ExpectedPods <= status.DesiredHealthy || status.ExpectedPods-waiting > status.DesiredHealthy {
		return nil
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// connect removes, one after the other, the drains that can still end, and then finds the nodes that each
// of the remaining ones waits for.
func (s *state) connect() {
	for changed := true; changed; {
		changed = false
		for node, d := range s.still {
			if !slices.ContainsFunc(d.Refused, s.hopeless) {
				delete(s.still, node)
				changed = true
			}
		}
	}
	for node, d := range s.still {
		for _, budget := range d.Refused {
			if !s.hopeless(budget) {
				continue
			}
			for _, other := range s.starved[budget] {
				if other != node {
					s.waits[node] = append(s.waits[node], wait{other, budget})
				}
			}
		}
	}
}

// hopeless reports whether a budget is starved, and all nodes on which its pods could run stand still.
func (s *state) hopeless(budget string) bool {
	fits, starved := s.starved[budget]
	return starved && !slices.ContainsFunc(fits, func(node string) bool { _, still := s.still[node]; return !still })
}

// between returns the budgets because of which nodes wait for each other.
func (s *state) between(nodes []string) (budgets []string) {
	for _, node := range nodes {
		for _, w := range s.waits[node] {
			if slices.Contains(nodes, w.node) {
				budgets = append(budgets, w.budget)
			}
		}
	}
	slices.Sort(budgets)
	return slices.Compact(budgets)
}

// cycles returns the sets of nodes that wait for each other, except those with a node that waits for
// another cycle: the end of that cycle may end this one.
func (s *state) cycles() (all [][]string) {
	reach := map[string]map[string]bool{}
	for node := range s.still {
		reach[node] = s.reach(node)
	}
	for _, node := range slices.Sorted(maps.Keys(s.still)) {
		if !reach[node][node] {
			continue
		}
		var cycle []string
		last := true
		for other := range reach[node] {
			switch {
			case reach[other][node]:
				cycle = append(cycle, other)
			case reach[other][other]:
				last = false
			}
		}
		slices.Sort(cycle)
		if last && cycle[0] == node { // each cycle once
			all = append(all, cycle)
		}
	}
	return all
}

// reach returns the nodes that a node waits for, directly or not.
func (s *state) reach(node string) map[string]bool {
	reached, next := map[string]bool{}, s.waits[node]
	for len(next) > 0 {
		other := next[len(next)-1].node
		next = next[:len(next)-1]
		if !reached[other] {
			reached[other] = true
			next = slices.Concat(next, s.waits[other])
		}
	}
	return reached
}

// givesWay returns the node of a cycle that gives way, if all other nodes return by themselves.
func (s *state) givesWay(cycle []string) string {
	var may []Drain
	for _, node := range cycle {
		stays := func(other string) bool { return other != node && !s.still[other].ComesBack }
		if d := s.still[node]; d.MayGiveWay && !slices.ContainsFunc(cycle, stays) {
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
