// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Scenario is a workload on nodes of which some are drained.
type Scenario struct {
	// Key is its letter; Title says what it is.
	Key, Title string
	// Nodes is how many nodes the pods are spread over; the first Drained of them are
	// drained, all at once.
	Nodes, Drained int
	// AppCount apps have Replicas pods each.
	AppCount, Replicas int
	// Budgets says which budgets there are; each allows MaxUnavailable pods to be away.
	Budgets        Budgets
	MaxUnavailable int
	// Ready is how long a pod takes to become ready once it is bound to a node, and
	// Gone how long it takes to go once it is told to.
	Ready, Gone Span
	// Surge: the pods ask for their replacements to be started first. Slipway does so; the
	// others know nothing of it.
	Surge bool
	// Fleet is how many nodes may be out at a time: all that are drained are returned as well,
	// some after the others. Zero: they are drained at once.
	Fleet int
	// Central: the controller drains the nodes, and not their agents. Fleets always are.
	Central bool
	// Blocked is how long a drain that cannot end is watched. Zero: it can.
	Blocked time.Duration
}

// Budgets says what a budget is for.
type Budgets int

// The kinds of Budgets.
const (
	None   Budgets = iota
	Shared         // one for all apps
	PerApp         // one for each app
)

// Span is where delays are drawn from, both ends included.
type Span struct{ Min, Max time.Duration }

// Exactly is a span of one delay.
func Exactly(d time.Duration) Span { return Span{d, d} }

// PodsPerNode is how many pods a node has before the drain.
func (s Scenario) PodsPerNode() int { return s.AppCount * s.Replicas / s.Nodes }

// InScope is how many pods are to be evicted.
func (s Scenario) InScope() int { return s.PodsPerNode() * s.Drained }

// App is a Deployment.
type App struct {
	Name        string
	Replicas    int
	Ready, Gone time.Duration
	// Budget is the name of its budget. Empty: none.
	Budget string
	// Surge is that of the scenario.
	Surge bool
}

// Bound is what a drain takes that starts all replacements at once: one start-up, then the
// longest termination.
func Bound(apps []App) time.Duration {
	var ready, gone time.Duration
	for _, app := range apps {
		ready, gone = max(ready, app.Ready), max(gone, app.Gone)
	}
	return ready + gone
}

// FleetBound is what it takes at least until each pod has left its node once, as far as the
// budgets say: a pod is away until its replacement is ready.
func FleetBound(apps []App, maxUnavailable int) time.Duration {
	var most time.Duration
	for _, app := range apps {
		most = max(most, time.Duration(app.Replicas)*app.Ready/time.Duration(maxUnavailable))
	}
	return most
}

// Apps are those of a repetition. The same seed gives the same apps.
func (s Scenario) Apps(seed uint64, repetition int) []App {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", s.Key, repetition)
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	apps := make([]App, s.AppCount)
	for i := range apps {
		apps[i] = App{
			Name:     fmt.Sprintf("app-%02d", i),
			Replicas: s.Replicas, Ready: s.Ready.draw(random), Gone: s.Gone.draw(random), Surge: s.Surge,
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

// Groups are the scenarios that are run on one cluster: where pods surge, EvictionRequests
// are served and acted on, and nowhere else; a fleet is drained by the controller, and other
// nodes by their agents, or where it says so by the controller.
func Groups(scenarios []Scenario) [][]Scenario {
	var plain, surging, central, fleets []Scenario
	for _, s := range scenarios {
		switch {
		case s.Surge:
			surging = append(surging, s)
		case s.Fleet > 0:
			fleets = append(fleets, s)
		case s.Central:
			central = append(central, s)
		default:
			plain = append(plain, s)
		}
	}
	return slices.DeleteFunc([][]Scenario{plain, surging, central, fleets}, func(g []Scenario) bool { return len(g) == 0 })
}

// Select returns the scenarios with the given keys, in the order of [All].
func Select(keys []string) ([]Scenario, error) {
	wanted := map[string]bool{}
	for _, key := range keys {
		wanted[strings.TrimSpace(key)] = true
	}
	var selected []Scenario
	for _, s := range All() {
		if wanted[s.Key] {
			selected = append(selected, s)
			delete(wanted, s.Key)
		}
	}
	for key := range wanted {
		return nil, fmt.Errorf("there is no scenario %q; there are %s", key, strings.Join(Keys(), ", "))
	}
	return selected, nil
}

// Keys are those of all scenarios.
func Keys() []string {
	var keys []string
	for _, s := range All() {
		keys = append(keys, s.Key)
	}
	return keys
}
