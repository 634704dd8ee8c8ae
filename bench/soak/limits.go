// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// share is what moving one pod takes of something, in seconds of CPU time.
type share struct {
	of      string
	seconds float64
}

// shares are what moving one pod takes, the most first.
func (r results) shares() []share {
	perNode := float64(r.Pods) / float64(r.Nodes)
	rest := lastRest(r.Rest)
	var all []share
	for of, q := range map[string]quantity{"the API server": drainServer, "etcd": drainEtcd, "the controller": drainCPU} {
		all = append(all, share{of, drainLine(r.Steps, rest, q).Each / perNode})
	}
	slices.SortFunc(all, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.of, b.of))
	})
	return all
}

// limits says what is used up first.
func (r results) limits() string {
	var b strings.Builder
	all := r.shares()
	if most := all[0]; most.seconds > 0 {
		var each []string
		for _, s := range all {
			each = append(each, fmt.Sprintf("%s ms of %s", number(1000*s.seconds), s.of))
		}
		fmt.Fprintf(&b, "To move a pod from one node to another takes, in CPU time, %s. **What limits drains is the CPU of %s**: of its cores, each is enough for "+
			"%s pods in a second.", strings.Join(each, ", "), most.of, number(1/most.seconds))
		for _, s := range all[1:] {
			if s.of == "the controller" && s.seconds > 0 {
				fmt.Fprintf(&b, " One core is enough for a controller that evicts %s in a second.", number(1/s.seconds))
			}
		}
		b.WriteString("\n")
	}
	if r.Agents == nil {
		return b.String()
	}
	large := clusters[0]
	memory, open := rising(atRestLine(r.Agents.Rest, serverHeap)), rising(atRestLine(r.Agents.Rest, watches))
	controller := rising(atRestLine(r.Rest, restMemory))
	if !known(memory) {
		b.WriteString("What agents add to the memory of the API server, at rest, is less than what that changes by from moment to moment.\n")
		return b.String()
	}
	fmt.Fprintf(&b, "At rest, **what grows with agents is the memory of the API server**: each of them has %s watches open there, which are %s KiB. "+
		"With %s nodes, that is %s watches and %s MiB at the API server, or one controller of %s MiB.\n",
		number(open.Each), number(memory.Each*kib), number0(int(large.nodes)), number(open.Each*large.nodes), number(memory.Each*large.nodes), number(controller.For(large.nodes)))
	return b.String()
}
