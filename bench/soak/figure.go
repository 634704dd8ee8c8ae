// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/slipway-k8s/slipway/bench/internal/plot"
)

// figure is the plots of what was measured.
func (r results) figure() string {
	rest := lastRest(r.Rest)
	central := func(name string, q quantity) plot.Series { return drainSeries(name, r.Steps, rest, q) }
	panels := []plot.Panel{
		{Title: "The controller at rest: memory", Across: "nodes of the cluster", Up: "MiB", Series: []plot.Series{restSeries("", r.Rest, restMemory)}},
		{Title: "The controller at work: memory", Across: "nodes drained at once", Up: "MiB", Series: []plot.Series{central("", drainMemory)}},
	}
	if r.Agents != nil {
		atRest, steps := r.Agents.Rest, r.Agents.Steps
		agents := func(q quantity) plot.Series { return drainSeries("agents", steps, lastRest(atRest), q) }
		both := func(q quantity) []plot.Series { return []plot.Series{central("one controller", q), agents(q)} }
		panels = append(
			panels,
			plot.Panel{
				Title: "Agents in one process, at rest: memory", Across: "agents", Up: "MiB",
				Series: []plot.Series{restSeries("", atRest, restMemory)},
			},
			plot.Panel{
				Title: "Agents at rest: memory alive in the API server", Across: "agents", Up: "MiB",
				Series: []plot.Series{restSeries("", atRest, serverHeap)},
			},
			plot.Panel{Title: "Requests of Slipway", Across: "nodes drained at once", Up: "requests in all", Series: both(drainRequests)},
			plot.Panel{Title: "CPU of Slipway", Across: "nodes drained at once", Up: "seconds in all", Series: both(drainCPU)},
			plot.Panel{Title: "CPU of the API server, all that it does", Across: "nodes drained at once", Up: "seconds in all", Series: both(drainServer)},
			plot.Panel{Title: "Sent to Slipway", Across: "nodes drained at once", Up: "KiB in all", Series: both(drainReceived)},
		)
	}
	return plot.Figure(fmt.Sprintf("What Slipway takes, measured with %d nodes and %d pods", r.Nodes, r.Pods), panels...)
}

func restSeries(name string, all []atRest, q quantity) plot.Series {
	line := atRestLine(all, q)
	return plot.Series{Name: name, Points: restPoints(all, q), Line: &line}
}

func drainSeries(name string, steps []step, rest *measured, q quantity) plot.Series {
	line := drainLine(steps, rest, q)
	return plot.Series{Name: name, Points: drainPoints(steps, rest, q), Line: &line}
}
