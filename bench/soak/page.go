// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/bench/internal/fit"
)

// scale is the page of what was measured, and of what follows from it for other clusters.
func (r results) scale() string {
	var b strings.Builder
	c := r.Conditions
	fmt.Fprintf(&b, "Measured once, on %s, at commit %s: Kubernetes %s, %d cores of %s and %d MiB of memory for all of it (load %s when it ended), %s.\n",
		c.Date, c.Slipway, c.Kubernetes, c.Cores, c.CPU, c.MemoryMiB, c.Load, c.Go)
	kept := "No promise was broken, by the audit log."
	if len(r.Broken) > 0 {
		kept = fmt.Sprintf("%d promises were broken, by the audit log.", len(r.Broken))
	}
	fmt.Fprintf(&b, "%s nodes with %s pods. %s\n", thousands(fmt.Sprint(r.Nodes)), thousands(fmt.Sprint(r.Pods)), kept)
	b.WriteString("\n### One controller for all nodes\n\n")
	restTable(&b, "nodes", r.Rest, []quantity{restMemory, restCPU, restReceived, restRequests})
	drainTable(&b, r.Steps, lastRest(r.Rest))
	if r.Agents != nil {
		b.WriteString("\n### Agents, many in one process\n\n")
		restTable(&b, "agents", r.Agents.Rest, []quantity{restMemory, restCPU, restReceived, restRequests, connections, watches, serverHeap, routines})
		drainTable(&b, r.Agents.Steps, lastRest(r.Agents.Rest))
	}
	b.WriteString("\n### Other clusters\n\n")
	projection(&b, r)
	b.WriteString("\n### What limits it\n\n")
	b.WriteString(r.limits())
	return b.String()
}

// restTable has what was measured at rest, and the lines through it.
func restTable(b *strings.Builder, of string, all []atRest, quantities []quantity) {
	header(b, append([]string{of + ", at rest", "pods"}, names(quantities)...))
	for _, r := range all {
		cells := []string{number0(r.Size), number0(r.Pods)}
		for _, q := range quantities {
			cells = append(cells, number(q.of(r.measured)))
		}
		row(b, cells)
	}
	lines := make([]fit.Line, len(quantities))
	for i, q := range quantities {
		lines[i] = atRestLine(all, q)
	}
	lineRows(b, []string{"each adds", ""}, []string{"at none", ""}, []string{"R²", ""}, lines)
	b.WriteString("\n")
}

// drained are what is said of drains, in this order.
var drained = []quantity{drainMemory, drainCPU, drainRequests, drainReceived, drainSent, drainWrites, drainWatched, drainServer, drainEtcd}

// drainTable has what was measured while nodes were drained, and the lines through it.
func drainTable(b *strings.Builder, steps []step, rest *measured) {
	header(b, append([]string{"drained at once", "seconds", "evictions (refused)"}, names(drained)...))
	for _, s := range steps {
		if s.Nodes == 0 {
			continue
		}
		cells := []string{number0(s.Nodes), fmt.Sprintf("%.1f", s.Seconds), fmt.Sprintf("%d (%d)", s.Evictions, s.Refused)}
		for _, q := range drained {
			cells = append(cells, number(max(0, q.of(s.beyond(rest)))))
		}
		row(b, cells)
	}
	lines := make([]fit.Line, len(drained))
	for i, q := range drained {
		lines[i] = drainLine(steps, rest, q)
	}
	lineRows(b, []string{"each adds", "", ""}, []string{"at none", "", ""}, []string{"R²", "", ""}, lines)
}

func lineRows(b *strings.Builder, each, at, fits []string, lines []fit.Line) {
	for _, l := range lines {
		how := "–"
		if l.Points > 2 {
			how = fmt.Sprintf("%.2f", l.Fits)
		}
		each, at, fits = append(each, number(l.Each)), append(at, number(l.At)), append(fits, how)
	}
	row(b, each)
	row(b, at)
	row(b, fits)
}

// projection has what follows for other clusters, with its formulas.
func projection(b *strings.Builder, r results) {
	measured := cluster{float64(r.Nodes), float64(r.Pods)}
	all := append([]cluster{measured}, clusters...)
	columns := []string{fmt.Sprintf("N nodes, P pods, p = P / N on each; %d drains at once", atOnce), "formula"}
	for _, c := range all {
		columns = append(columns, fmt.Sprintf("%s, %s", number0(int(c.nodes)), number0(int(c.pods))))
	}
	header(b, columns)
	rows := r.project()
	if r.Agents != nil {
		rows = append(rows, r.projectAgents()...)
	}
	for _, p := range rows {
		name := p.name
		if p.unit != "" {
			name += ", in " + p.unit
		}
		cells := []string{name, p.formula}
		for _, c := range all {
			cells = append(cells, number(p.of(c)))
		}
		row(b, cells)
	}
}

func names(quantities []quantity) (all []string) {
	for _, q := range quantities {
		name := q.name
		if q.unit != "" {
			name += ", " + q.unit
		}
		all = append(all, name)
	}
	return all
}

func header(b *strings.Builder, cells []string) {
	row(b, cells)
	b.WriteString("|" + strings.Repeat("---|", len(cells)) + "\n")
}

func row(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func number0(n int) string { return thousands(fmt.Sprint(n)) }
