// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// markdown is for the README: a row for each number of nodes in work, and how it came
// about.
func (r results) markdown() string {
	var b strings.Builder
	b.WriteString("| nodes drained at once | memory of the controller | until the last was done | requests | of them evictions (refused) |\n|---|---|---|---|---|\n")
	for _, s := range r.Steps {
		seconds, evictions := fmt.Sprintf("%.1f s", s.Seconds), fmt.Sprintf("%d (%d)", s.Evictions, s.Refused)
		if s.Nodes == 0 {
			seconds, evictions = "at rest", "–"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", s.Nodes, mib(s.MostKiB), seconds, s.verbs(), evictions)
	}
	kept := "No promise was broken"
	if len(r.Broken) > 0 {
		kept = fmt.Sprintf("%d promises were broken", len(r.Broken))
	}
	first, last := r.Steps[0], r.Steps[len(r.Steps)-1]
	fmt.Fprintf(&b, "\nAt its peak it took %s; it may take %d. From none to %d nodes in work (%d seen at a time), that is %.1f MiB for each. %s, by the audit log.\n",
		mib(r.PeakKiB), r.LimitMiB, last.Nodes, last.AtOnce, float64(last.MostKiB-first.MostKiB)/1024/float64(max(last.Nodes, 1)), kept)
	c := r.Conditions
	fmt.Fprintf(&b, "Measured on %s, at commit %s, with %d nodes and %d pods on a local control plane (%d cores of %s, load %s when it ended). `make soak` measures it anew.\n",
		c.Date, c.Slipway, r.Nodes, r.Pods, c.Cores, c.CPU, c.Load)
	return b.String()
}

// verbs are the requests of a step: the most frequent verb first would change places
// from run to run, so they are in the order of the alphabet.
func (m *measured) verbs() string {
	var all []string
	for _, verb := range slices.Sorted(maps.Keys(m.Requests)) {
		all = append(all, fmt.Sprintf("%s %d", verb, m.Requests[verb]))
	}
	if len(all) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", m.total(), strings.Join(all, ", "))
}
