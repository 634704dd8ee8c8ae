// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/slipway-k8s/slipway/bench/internal/fit"
)

// clusters are the sizes that are spoken of, besides the one that was measured.
var clusters = []cluster{{5000, 150_000}, {15_000, 450_000}}

type cluster struct{ nodes, pods float64 }

func (c cluster) perNode() float64 { return c.pods / c.nodes }

const (
	// atOnce is how many drains go on at a time in a projection.
	atOnce = 100
	// heartbeat is how often a kubelet writes its Node where nothing has changed, in seconds; simulated
	// ones write it every 10 to 20 min.
	heartbeat = 300
)

// projected is something that is said of other clusters: by a formula, of what was measured.
type projected struct {
	name, formula, unit string
	of                  func(cluster) float64
}

// number is a number with the digits that it is known to.
func number(x float64) string {
	const nothing, little = 1e-4, .995
	switch size := math.Abs(x); {
	case size < nothing:
		return "0"
	case size < little:
		return fmt.Sprintf("%.2g", x)
	case size < 100:
		return fmt.Sprintf("%.1f", x)
	default:
		return thousands(fmt.Sprintf("%.0f", x))
	}
}

// thousands sets commas between thousands.
func thousands(digits string) string {
	const group = 3
	var b strings.Builder
	digits, negative := strings.CutPrefix(digits, "-")
	if negative {
		b.WriteByte('-')
	}
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%group == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// project says what the controller takes, by the lines through what was measured.
func (r results) project() []projected {
	perNode := cluster{float64(r.Nodes), float64(r.Pods)}.perNode()
	rest := lastRest(r.Rest)
	memory := rising(atRestLine(r.Rest, restMemory))
	work := drainLine(r.Steps, rest, drainMemory)
	all := []projected{
		byNodes("memory of the controller, at rest", restMemory.unit, memory),
		{
			fmt.Sprintf("memory of the controller, with %d drains at once", atOnce),
			fmt.Sprintf("the same + %s · %d · p / %g", number(work.Each), atOnce, perNode), "MiB",
			func(c cluster) float64 { return memory.For(c.nodes) + work.Each*atOnce*c.perNode()/perNode },
		},
		byNodes("CPU of the controller, at rest", restCPU.unit, rising(atRestLine(r.Rest, restCPU))),
	}
	received := rising(atRestLine(r.Rest, restReceived))
	all = append(all, byNodes("received by the controller, at rest, without heartbeats", restReceived.unit, received))
	if size := r.nodeEvent(); size > 0 {
		all = append(all, projected{
			"and with those of kubelets, one in 5 min for each node", fmt.Sprintf("N / %d · %s B more", heartbeat, number(size)), "B/s",
			func(c cluster) float64 { return received.For(c.nodes) + c.nodes/heartbeat*size },
		})
	}
	return append(all, r.projectDrains(rest, perNode)...)
}

// byNodes is what grows with nodes alone.
func byNodes(name, unit string, l fit.Line) projected {
	formula := number(l.At)
	if l.Each > 0 {
		formula += fmt.Sprintf(" + %s · N", number(l.Each))
	}
	return projected{name, formula, unit, func(c cluster) float64 { return l.For(c.nodes) }}
}

// rising is the line, or a level one if it falls: with more nodes, nothing is less, and what was measured of it is
// chance.
func rising(l fit.Line) fit.Line {
	if l.Each > 0 {
		return l
	}
	l.At, l.Each = l.For((l.From+l.To)/2), 0
	return l
}

// known says whether a line is more than chance: what it says of larger clusters is left out else.
func known(l fit.Line) bool {
	const most, few = .5, 3
	return l.Points >= few && l.Fits >= most && l.Each > 0
}

// nodeEvent is how many bytes one event of a watch of Nodes has.
func (r results) nodeEvent() float64 {
	var bytes, events float64
	for _, s := range append(r.Steps, restSteps(r.Rest)...) {
		if s.Used != nil {
			bytes, events = bytes+s.Used.WatchBytes["nodes"], events+s.Used.WatchEvents["nodes"]
		}
	}
	if events == 0 {
		return 0
	}
	return bytes / events
}

func restSteps(all []atRest) (steps []step) {
	for _, r := range all {
		steps = append(steps, step{measured: r.measured})
	}
	return steps
}

// projectDrains says what it takes to have each node drained once.
func (r results) projectDrains(rest *measured, perNode float64) (all []projected) {
	var nodes, evictions, requests float64
	for _, s := range r.Steps {
		nodes, evictions, requests = nodes+float64(s.Nodes), evictions+float64(s.Evictions), requests+float64(s.total())
	}
	if nodes == 0 {
		return nil
	}
	requests -= float64(r.Steps[0].total())
	fixed, perPod := (requests-evictions)/nodes, evictions/nodes/perNode
	all = append(all, projected{
		"each node drained once: requests of Slipway", fmt.Sprintf("N · (%s + %s · p)", number(fixed), number(perPod)), "",
		func(c cluster) float64 { return c.nodes * (fixed + perPod*c.perNode()) },
	})
	for _, q := range []struct {
		name string
		quantity
	}{
		{"and CPU of the controller", drainCPU},
		{"and CPU of the API server, all that it does", drainServer},
		{"and CPU of etcd", drainEtcd},
		{"and writes to etcd, of all", drainWrites},
		{"and sent to all who watch, by all", drainWatched},
	} {
		each := drainLine(r.Steps, rest, q.quantity).Each / perNode
		all = append(all, projected{q.name, number(each) + " · P", q.unit, func(c cluster) float64 { return each * c.pods }})
	}
	return all
}

// projectAgents says what agents take instead, as far as more was measured of it than chance.
func (r results) projectAgents() (all []projected) {
	for _, q := range []quantity{watches, connections, serverHeap, routines, restReceived} {
		l := atRestLine(r.Agents.Rest, q)
		if !known(l) {
			continue
		}
		each := l.Each
		name := q.name + ", for the agents"
		if q.name == restReceived.name {
			name = "received by all agents, at rest"
		}
		all = append(all, projected{name, number(each) + " · N", q.unit, func(c cluster) float64 { return each * c.nodes }})
	}
	return all
}
