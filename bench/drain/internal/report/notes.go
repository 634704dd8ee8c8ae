// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/bench/drain/internal/measure"
)

// Notes say what the numbers mean, and what they depend on.
func Notes(r Results) []string {
	c := r.Conditions
	notes := []string{
		fmt.Sprintf("%s, run in turns; seed %d. Kubernetes %s, %d cores (%s); %s.", r.medians(), r.Seed, c.Kubernetes, c.Cores, c.CPU, c.Go),
		measured(r),
		"Control plane: real etcd, kube-apiserver, kube-controller-manager and kube-scheduler on the same cores as the contenders; " +
			"simulated nodes and pods; audit log of all writes, with objects. " + settings(c.Settings) +
			"The API server's limits are its defaults. " + latency(r),
		fmt.Sprintf("kubectl drained with %s. The ideal evictor watches the budgets and evicts the moment one allows it, one eviction at a "+
			"time: several budgets at once, or none, can be drained faster. Slipway's time is from the creation of the LifecycleEvent "+
			"until it has Succeeded; its agents are processes with the tokens of their pods, and at rest while others drain.",
			strings.Join(c.KubectlFlags, " ")),
		"The same for all: how long each pod of the drained nodes, and its replacement, takes to become ready and to go (from the seed). " +
			"Random: who goes first where a contender has no order of its own, or pods differ by the random part of their names only; where " +
			"replacements are scheduled; what else the machine does.",
		"idle: the share of the drain in which a budget, or the lack of one, would have allowed an eviction of a pod in scope and none " +
			"was in flight. idle per budget: the same for each budget by itself, on average. others: requests that are no watches, " +
			"evictions or core Events.",
	}
	if broken := r.Broken(); len(broken) > 0 {
		notes = append(notes, fmt.Sprintf("PROMISES BROKEN, says the audit log: %s.", strings.Join(broken, "; ")))
	}
	return notes
}

// measured says when each scenario was, and of which commit.
func measured(r Results) string {
	var all []string
	for _, o := range r.occasions() {
		all = append(all, fmt.Sprintf("%s on %s, Slipway %s, load %s at the begin", keys(r.on(o)), o.Date, o.Slipway, o.Load))
	}
	return strings.Join(all, "; ") + "."
}

func settings(of map[string][]string) string {
	var all []string
	for _, component := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s %s", component, strings.Join(of[component], " ")))
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("Raised for all contenders: %s. ", strings.Join(all, "; "))
}

// latency is how long evictions take the API server by itself.
func latency(r Results) string {
	var all []float64
	for _, run := range r.Runs {
		all = append(all, run.EvictionMillis...)
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	const nines = 0.99
	return fmt.Sprintf("It took %.0f ms for an accepted eviction (median of %d; 99th percentile %.0f ms).",
		measure.Median(all), len(all), all[int(nines*float64(len(all)-1))])
}
