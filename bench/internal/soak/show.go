// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/report"
)

// quantity is measured at several sizes, and taken to grow with them in a line.
type quantity struct {
	name, unit string
	of         func(period) float64
}

const kib = 1024

// Measured at rest: by nodes of the cluster, or by agents.
var (
	restMemory   = quantity{"memory", "MiB", func(m period) float64 { return float64(m.MostKiB) / kib }}
	restCPU      = quantity{"CPU", "ms/s", func(m period) float64 { return m.Used.CPUSeconds * 1000 / m.Seconds }}
	restReceived = quantity{"received", "B/s", func(m period) float64 { return float64(m.Used.Received) / m.Seconds }}
	restRequests = quantity{"requests", "/min", func(m period) float64 { return float64(m.total()) * 60 / m.Seconds }}
	connections  = quantity{"connections", "", func(m period) float64 { return float64(m.Used.Connections) }}
	watches      = quantity{"watches open at the API server", "", func(m period) float64 { return meter.Sum(m.Used.Watches) }}
	serverHeap   = quantity{"memory alive in the API server", "MiB", func(m period) float64 { return float64(m.Used.ServerLiveKiB) / kib }}
	routines     = quantity{"goroutines of the API server", "", func(m period) float64 { return float64(m.Used.ServerGoroutines) }}
)

// Measured while nodes are drained: by how many at once. Except the memory, it is beyond what is used
// at rest in the same time.
var (
	drainMemory   = quantity{"memory at its most", "MiB", func(m period) float64 { return float64(m.MostKiB) / kib }}
	drainCPU      = quantity{"CPU", "s", func(m period) float64 { return m.Used.CPUSeconds }}
	drainRequests = quantity{"requests", "", func(m period) float64 { return float64(m.total()) }}
	drainReceived = quantity{"received", "KiB", func(m period) float64 { return float64(m.Used.Received) / kib }}
	drainSent     = quantity{"sent", "KiB", func(m period) float64 { return float64(m.Used.Sent) / kib }}
	drainWrites   = quantity{"writes to etcd", "", func(m period) float64 { return m.Used.Writes }}
	drainWatched  = quantity{"sent to all watchers", "KiB", func(m period) float64 { return meter.Sum(m.Used.WatchBytes) / kib }}
	drainServer   = quantity{"CPU of the API server", "s", func(m period) float64 { return m.Used.ComponentCPUSeconds["kube-apiserver"] }}
	drainEtcd     = quantity{"CPU of etcd", "s", func(m period) float64 { return m.Used.ComponentCPUSeconds["etcd"] }}
)

// title returns the name with the unit.
func (q quantity) title(separator string) string {
	if q.unit == "" {
		return q.name
	}
	return q.name + separator + q.unit
}

// point is one measurement at a size.
type point struct{ X, Y float64 }

// series has the measurements of a quantity, by size, with the line of a linear regression through it: at + each ·
// size. fits is the coefficient of determination.
type series struct {
	quantity
	points         []point
	at, each, fits float64
}

func newSeries(q quantity, points []point) series {
	s := series{quantity: q, points: points, fits: 1}
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = p.X, p.Y
	}
	switch {
	case len(points) > 1:
		s.at, s.each = stat.LinearRegression(x, y, nil, false)
		if stat.Variance(y, nil) > 0 {
			s.fits = stat.RSquared(x, y, nil, s.at, s.each)
		}
	case len(points) == 1:
		s.at = points[0].Y
	}
	return s
}

// at rest, by size.
func ofRest(q quantity, all []atRest) series {
	var points []point
	for _, r := range all {
		if r.Used != nil {
			points = append(points, point{X: float64(r.Size), Y: q.of(r.period)})
		}
	}
	return newSeries(q, points)
}

// ofDrains subtracts the use at rest, by the last measurement of it.
func ofDrains(q quantity, steps []step, rest []atRest) series {
	var points []point
	for _, s := range steps {
		if s.Used != nil && s.Nodes > 0 {
			points = append(points, point{X: float64(s.Nodes), Y: max(0, q.of(s.beyond(rest)))})
		}
	}
	return newSeries(q, points)
}

// beyond subtracts the use at rest, such as heartbeats of nodes. It does not change memory and the state at the end.
func (m period) beyond(all []atRest) period {
	if len(all) == 0 {
		return m
	}
	rest := all[len(all)-1]
	if rest.Used == nil || rest.Seconds == 0 {
		return m
	}
	share := m.Seconds / rest.Seconds
	used := *m.Used
	used.CPUSeconds -= rest.Used.CPUSeconds * share
	used.Received -= int64(float64(rest.Used.Received) * share)
	used.Sent -= int64(float64(rest.Used.Sent) * share)
	used.Writes -= rest.Used.Writes * share
	used.WatchBytes = meter.Minus(used.WatchBytes, rest.Used.WatchBytes, share)
	used.WatchEvents = meter.Minus(used.WatchEvents, rest.Used.WatchEvents, share)
	used.ComponentCPUSeconds = meter.Minus(used.ComponentCPUSeconds, rest.Used.ComponentCPUSeconds, share)
	m.Used = &used
	return m
}

// value returns the value of the line at a size.
func (s series) value(size float64) float64 { return s.at + s.each*size }

// rising returns the line, or a level one if it falls: more nodes use nothing less, and what was
// measured of it is chance.
func (s series) rising() series {
	if n := len(s.points); n > 0 && s.each <= 0 {
		s.at, s.each = s.value((s.points[0].X+s.points[n-1].X)/2), 0
	}
	return s
}

// known reports whether the line is more than chance: only such lines are projected to larger clusters.
func (s series) known() bool {
	const most, few = .5, 3
	return len(s.points) >= few && s.fits >= most && s.each > 0
}

// Short is the table for the README: a row for each number of nodes in work.
func (r Results) Short() string {
	table := report.NewTable("nodes drained at once", "memory of the controller", "until the last was done", "requests", "of them evictions (refused)")
	for _, s := range r.Steps {
		seconds, evictions, requests := fmt.Sprintf("%.1f s", s.Seconds), fmt.Sprintf("%d (%d)", s.Evictions, s.Refused), "0"
		if s.Nodes == 0 {
			seconds, evictions = "at rest", "–"
		}
		var verbs []string
		for _, verb := range slices.Sorted(maps.Keys(s.Requests)) {
			verbs = append(verbs, fmt.Sprintf("%s %d", verb, s.Requests[verb]))
		}
		if len(verbs) > 0 {
			requests = fmt.Sprintf("%d: %s", s.total(), strings.Join(verbs, ", "))
		}
		table.Row(fmt.Sprint(s.Nodes), report.MiB(s.MostKiB), seconds, requests, evictions)
	}
	first, last, c := r.Steps[0], r.Steps[len(r.Steps)-1], r.Conditions
	return fmt.Sprintf("%s\nAt its peak it took %s; it may take %d. From none to %d nodes in work (%d seen at a time), that is %.1f MiB for each. %s\n"+
		"Measured on %s, at commit %s, with %d nodes and %d pods on a local control plane (%d cores of %s, load %s when it ended). `make soak` measures it again.\n",
		table, report.MiB(r.PeakKiB), r.LimitMiB, last.Nodes, last.AtOnce, float64(last.MostKiB-first.MostKiB)/kib/float64(max(last.Nodes, 1)),
		report.Kept(r.Broken), c.Date, c.Slipway, r.Nodes, r.Pods, c.Cores, c.CPU, c.Load)
}

// Page is everything that was measured, and what follows from it for other clusters.
func (r Results) Page() string {
	c := r.Conditions
	text := fmt.Sprintf("Measured once, on %s, at commit %s: Kubernetes %s, %d cores of %s and %d MiB of memory for all of it (load %s when it ended), %s.\n"+
		"%s nodes with %s pods. %s\n\n### One controller for all nodes\n\n",
		c.Date, c.Slipway, c.Kubernetes, c.Cores, c.CPU, c.MemoryMiB, c.Load, c.Go, report.Count(r.Nodes), report.Count(r.Pods), report.Kept(r.Broken))
	text += restTable("nodes", r.Rest, restMemory, restCPU, restReceived, restRequests) + "\n" + drainTable(r.Steps, r.Rest)
	if r.Agents != nil {
		text += "\n### Agents, many in one process\n\n" +
			restTable("agents", r.Agents.Rest, restMemory, restCPU, restReceived, restRequests, connections, watches, serverHeap, routines) +
			"\n" + drainTable(r.Agents.Steps, r.Agents.Rest)
	}
	return text + "\n### Other clusters\n\n" + r.projection()
}

// restTable shows what was measured at rest, and the lines through it.
func restTable(of string, all []atRest, quantities ...quantity) string {
	var rows [][]string
	for _, r := range all {
		rows = append(rows, []string{report.Count(r.Size), report.Count(r.Pods)})
	}
	columns := make([]series, len(quantities))
	for i, q := range quantities {
		columns[i] = ofRest(q, all)
	}
	return table([]string{of + ", at rest", "pods"}, rows, columns)
}

// drainTable shows what was measured while nodes were drained, and the lines through it.
func drainTable(steps []step, rest []atRest) string {
	var rows [][]string
	for _, s := range steps {
		if s.Nodes > 0 {
			rows = append(rows, []string{report.Count(s.Nodes), fmt.Sprintf("%.1f", s.Seconds), fmt.Sprintf("%d (%d)", s.Evictions, s.Refused)})
		}
	}
	var columns []series
	for _, q := range []quantity{drainMemory, drainCPU, drainRequests, drainReceived, drainSent, drainWrites, drainWatched, drainServer, drainEtcd} {
		columns = append(columns, ofDrains(q, steps, rest))
	}
	return table([]string{"drained at once", "seconds", "evictions (refused)"}, rows, columns)
}

// table shows series as columns, beside the cells of the rows, and the lines of the series below.
func table(header []string, rows [][]string, columns []series) string {
	blank := make([]string, len(header)-1)
	each, at, fits := append([]string{"each adds"}, blank...), append([]string{"at none"}, blank...), append([]string{"R²"}, blank...)
	for _, column := range columns {
		header = append(header, column.title(", "))
		for i, p := range column.points {
			rows[i] = append(rows[i], report.Number(p.Y))
		}
		fit := "–"
		if len(column.points) > 2 {
			fit = fmt.Sprintf("%.2f", column.fits)
		}
		each, at, fits = append(each, report.Number(column.each)), append(at, report.Number(column.at)), append(fits, fit)
	}
	t := report.NewTable(header...)
	for _, row := range append(rows, each, at, fits) {
		t.Row(row...)
	}
	return t.String()
}
