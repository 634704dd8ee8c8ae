// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

// Scenario is a workload on nodes of which some are drained.
type Scenario struct {
	// Key is its letter; Title describes it.
	Key, Title string
	// Nodes is the number of nodes that the pods are spread over; the first Drained of them are drained, all at once.
	Nodes, Drained int
	// AppCount apps have Replicas pods each.
	AppCount, Replicas int
	// Budgets selects the PodDisruptionBudgets; each has MaxUnavailable.
	Budgets        Budgets
	MaxUnavailable int
	// Ready is the time until a pod is ready after its binding to a node, and Gone the time that it takes to
	// terminate.
	Ready, Gone Span
	// Surge: the pods request that their replacements start first. Only Slipway does so.
	Surge bool
	// Fleet limits the number of nodes out of service at a time: all nodes are drained and returned, one after the
	// other. Zero: they are drained at once.
	Fleet int
	// Central: the controller drains the nodes instead of their agents. Fleets always have it so.
	Central bool
	// Blocked is the time for which a drain that cannot end is watched. Zero: it can end.
	Blocked time.Duration
}

// Budgets selects the pods of a PodDisruptionBudget.
type Budgets int

// The kinds of Budgets.
const (
	None   Budgets = iota
	Shared         // one selects all apps
	PerApp         // one selects each app
)

// Span bounds random delays, both ends included.
type Span struct{ Min, Max time.Duration }

func exactly(d time.Duration) Span { return Span{d, d} }

// All returns the scenarios.
func All() []Scenario {
	oneSecond, starts := exactly(time.Second), Span{time.Second, 4 * time.Second}
	a := Scenario{
		Key: "a", Title: "100 pods of 600, no budget, gone after 1 s",
		Nodes: 6, Drained: 1, AppCount: 1, Replicas: 600, Ready: oneSecond, Gone: oneSecond,
	}
	b := Scenario{
		Key: "b", Title: "20 pods of 120 under one budget of maxUnavailable 2, ready after about 1.2 s, gone after 1 s",
		Nodes: 6, Drained: 1, AppCount: 20, Replicas: 6, Budgets: Shared, MaxUnavailable: 2, Ready: oneSecond, Gone: oneSecond,
	}
	c := b
	c.Key, c.Title = "c", "20 pods of 120 under one budget of maxUnavailable 2, ready after 1 to 4 s, gone after up to 30 s"
	c.Ready, c.Gone = starts, Span{500 * time.Millisecond, 30 * time.Second}
	d := Scenario{
		Key: "d", Title: "100 pods of 300 under 10 budgets of maxUnavailable 2, 10 pods each, ready after about 1.2 s, gone after 1 s",
		Nodes: 3, Drained: 1, AppCount: 10, Replicas: 30, Budgets: PerApp, MaxUnavailable: 2, Ready: oneSecond, Gone: oneSecond,
	}
	e := Scenario{
		Key: "e", Title: "10 nodes at once, 30 pods each, under 10 budgets of maxUnavailable 2 that all nodes share, ready after 1 to 3 s, gone after 1 to 5 s",
		Nodes: 16, Drained: 10, AppCount: 10, Replicas: 48, Budgets: PerApp, MaxUnavailable: 2,
		Ready: Span{time.Second, 3 * time.Second}, Gone: Span{time.Second, 5 * time.Second},
	}
	f := b
	f.Key, f.Title = "f", "1 pod that its budget never lets go, for 60 s"
	f.AppCount, f.MaxUnavailable, f.Blocked = 1, 0, time.Minute
	g := b
	g.Key, g.Title = "g", "(b) with pods ready after about 10.2 s, and replacements first: Slipway's surge"
	g.Ready, g.Surge = exactly(10*time.Second), true
	h := c
	h.Key, h.Title, h.Surge = "h", "(c) with replacements first", true
	i := e
	i.Key, i.Title = "i", "a fleet of 50 nodes, each drained and returned, at most 10 out at a time: 1,500 pods under 30 budgets of maxUnavailable 3 that all nodes share, ready after 1 to 3 s, gone after 1 to 5 s; kubectl in a loop, one node after the other"
	i.Nodes, i.Drained, i.AppCount, i.Replicas, i.MaxUnavailable, i.Fleet = 50, 50, 30, 50, 3, 10
	j := e
	j.Key, j.Title, j.Central = "j", "(e) in central mode: one process drains the 10 nodes, and not 10 agents", true
	k := i
	k.Key, k.Title = "k", "(i) with pods as in (c): ready after 1 to 4 s, gone after up to 30 s"
	k.Ready, k.Gone = c.Ready, c.Gone
	return []Scenario{a, b, c, d, e, f, g, h, i, j, k}
}

// PodsPerNode returns how many pods a node has before the drain.
func (s Scenario) PodsPerNode() int { return s.AppCount * s.Replicas / s.Nodes }

// Apps returns the apps of a repetition. The same seed gives the same apps. All pods of an app
// have the same delays, and so have their replacements: each contender finds the same pods.
func (s Scenario) Apps(seed uint64, repetition int) []testbed.App {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", s.Key, repetition)
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	apps := make([]testbed.App, s.AppCount)
	for i := range apps {
		apps[i] = testbed.App{
			Name: fmt.Sprintf("app-%02d", i), Replicas: s.Replicas, MaxUnavailable: s.MaxUnavailable,
			Ready: s.Ready.draw(random), Gone: s.Gone.draw(random), Surge: s.Surge,
		}
		switch s.Budgets {
		case None:
		case Shared:
			apps[i].Budget = "all"
		case PerApp:
			apps[i].Budget = apps[i].Name
		}
	}
	return apps
}

// draw rounds to 10 ms: nothing here is more exact.
func (s Span) draw(random *rand.Rand) time.Duration {
	const step = 10 * time.Millisecond
	return s.Min + step*time.Duration(random.Int64N(int64((s.Max-s.Min)/step)+1))
}

// bound returns the least time that a run can take: with surge, one start-up and then the longest
// termination; for a fleet, the time in which the budgets let each pod leave its node once.
// Zero: there is no such bound.
func (s Scenario) bound(apps []testbed.App) time.Duration {
	var ready, gone, fleet time.Duration
	for _, app := range apps {
		ready, gone = max(ready, app.Ready), max(gone, app.Gone)
		if s.Fleet > 0 {
			fleet = max(fleet, time.Duration(app.Replicas)*app.Ready/time.Duration(s.MaxUnavailable))
		}
	}
	if s.Surge {
		return ready + gone
	}
	return fleet
}

// Groups returns the scenarios by the cluster that they run on. Only clusters for pods that surge serve
// EvictionRequests and act on them. The controller drains fleets, and further nodes in scenarios with Central.
func Groups(scenarios []Scenario) (groups [][]Scenario) {
	type needs struct{ surge, fleet, central bool }
	index := map[needs]int{}
	for _, s := range scenarios {
		n := needs{s.Surge, s.Fleet > 0, s.Central}
		i, known := index[n]
		if !known {
			i, index[n] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

// Select returns the scenarios with the given keys, in the order of [All].
func Select(keys []string) ([]Scenario, error) {
	for _, key := range keys {
		if !slices.Contains(Keys(), key) {
			return nil, fmt.Errorf("scenario %q does not exist; the scenarios are %s", key, strings.Join(Keys(), ", "))
		}
	}
	return slices.DeleteFunc(All(), func(s Scenario) bool { return !slices.Contains(keys, s.Key) }), nil
}

// Keys returns those of all scenarios.
func Keys() (keys []string) {
	for _, s := range All() {
		keys = append(keys, s.Key)
	}
	return keys
}

// most returns the largest number of scenarios.
func most(scenarios []Scenario, of func(Scenario) int) (most int) {
	for _, s := range scenarios {
		most = max(most, of(s))
	}
	return most
}
