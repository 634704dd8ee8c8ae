// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"

	"github.com/slipway-k8s/slipway/bench/internal/report"
)

// clusters are the further cluster sizes of the projection.
var clusters = []cluster{{5000, 150_000}, {15_000, 450_000}}

type cluster struct{ nodes, pods float64 }

func (c cluster) perNode() float64 { return c.pods / c.nodes }

const (
	// atOnce is the number of simultaneous drains in a projection.
	atOnce = 100
	// heartbeat is the period in seconds in which a kubelet writes an unchanged Node; kwok writes it every 10 to 20
	// min.
	heartbeat = 300
)

// projected is a projection for larger clusters, with its formula.
type projected struct {
	name, formula, unit string
	of                  func(cluster) float64
}

// projection shows what follows for other clusters.
func (r Results) projection() string {
	all := append([]cluster{{float64(r.Nodes), float64(r.Pods)}}, clusters...)
	header := []string{fmt.Sprintf("N nodes, P pods, p = P / N on each; %d drains at once", atOnce), "formula"}
	for _, c := range all {
		header = append(header, fmt.Sprintf("%s, %s", report.Count(int(c.nodes)), report.Count(int(c.pods))))
	}
	table := report.NewTable(header...)
	for _, p := range r.project() {
		cells := []string{quantity{name: p.name, unit: p.unit}.title(", in "), p.formula}
		for _, c := range all {
			cells = append(cells, report.Number(p.of(c)))
		}
		table.Row(cells...)
	}
	return table.String()
}

// project returns the projections for the controller, for drains, and for agents instead of the controller.
func (r Results) project() []projected {
	perNode := float64(r.Pods) / float64(r.Nodes)
	memory, work, received := ofRest(restMemory, r.Rest).rising(), ofDrains(drainMemory, r.Steps, r.Rest), ofRest(restReceived, r.Rest).rising()
	event := r.nodeEvent()
	all := []projected{
		byNodes("memory of the controller, at rest", memory),
		{
			fmt.Sprintf("memory of the controller, with %d drains at once", atOnce),
			fmt.Sprintf("the same + %s · %d · p / %g", report.Number(work.each), atOnce, perNode), "MiB",
			func(c cluster) float64 { return memory.value(c.nodes) + work.each*atOnce*c.perNode()/perNode },
		},
		byNodes("CPU of the controller, at rest", ofRest(restCPU, r.Rest).rising()),
		byNodes("received by the controller, at rest, without heartbeats", received),
		{
			"and with heartbeats of kubelets, one in 5 min for each node", fmt.Sprintf("N / %d · %s B more", heartbeat, report.Number(event)), "B/s",
			func(c cluster) float64 { return received.value(c.nodes) + c.nodes/heartbeat*event },
		},
	}
	return append(append(all, r.projectDrains(perNode)...), r.projectAgents()...)
}

// byNodes projects a quantity that only the number of nodes changes.
func byNodes(name string, s series) projected {
	formula := report.Number(s.at)
	if s.each > 0 {
		formula += fmt.Sprintf(" + %s · N", report.Number(s.each))
	}
	return projected{name, formula, s.unit, func(c cluster) float64 { return s.value(c.nodes) }}
}

// nodeEvent returns how many bytes one event of a watch of Nodes has.
func (r Results) nodeEvent() float64 {
	var bytes, events float64
	for _, u := range r.used() {
		bytes, events = bytes+u.WatchBytes["nodes"], events+u.WatchEvents["nodes"]
	}
	return bytes / max(events, 1)
}

// projectDrains projects the cost of draining each node once.
func (r Results) projectDrains(perNode float64) []projected {
	var nodes, evictions, requests float64
	for _, s := range r.Steps {
		if s.Nodes > 0 {
			nodes, evictions, requests = nodes+float64(s.Nodes), evictions+float64(s.Evictions), requests+float64(s.total())
		}
	}
	if nodes == 0 {
		return nil
	}
	fixed, perPod := (requests-evictions)/nodes, evictions/nodes/perNode
	byPods := func(name string, q quantity) projected {
		each := ofDrains(q, r.Steps, r.Rest).each / perNode
		return projected{name, report.Number(each) + " · P", q.unit, func(c cluster) float64 { return each * c.pods }}
	}
	return []projected{
		{
			"each node drained once: requests of Slipway", fmt.Sprintf("N · (%s + %s · p)", report.Number(fixed), report.Number(perPod)), "",
			func(c cluster) float64 { return c.nodes * (fixed + perPod*c.perNode()) },
		},
		byPods("and CPU of the controller", drainCPU),
		byPods("and CPU of the API server, all that it does", drainServer),
		byPods("and CPU of etcd", drainEtcd),
		byPods("and writes to etcd, of all", drainWrites),
		byPods("and sent to all watchers, by all", drainWatched),
	}
}

// projectAgents projects the cost of agents instead of the controller, where the line is more than chance.
func (r Results) projectAgents() (all []projected) {
	if r.Agents == nil {
		return nil
	}
	for _, q := range []quantity{watches, connections, serverHeap, routines, restReceived} {
		s, name := ofRest(q, r.Agents.Rest), q.name+", for the agents"
		if q.name == restReceived.name {
			name = "received by all agents, at rest"
		}
		if s.known() {
			all = append(all, projected{name, report.Number(s.each) + " · N", q.unit, func(c cluster) float64 { return s.each * c.nodes }})
		}
	}
	return all
}
