// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings of a soak.
type settings struct {
	// nodes are how many there are in the end, with so many pods on each: each of another app.
	nodes, podsPerNode int
	// sizes are how many nodes there are before, while the controller is watched at rest.
	sizes []int
	// steps are how many nodes the controller drains at once, one step after the other, each of
	// other nodes.
	steps []int
	// agents are how many of them run in one process, while they are watched at rest; agentSteps are
	// how many of these drain their nodes at once, one step after the other, each of other nodes.
	agents, agentSteps []int
	// limit is how many MiB the controller may take.
	limit int
	// rest is how long the controller, and agents, are watched at rest.
	rest time.Duration
	// mixed is how long drains, EvictionRequests and maintenances are kept going, instead of all this; seed is
	// that of what is random in it.
	mixed time.Duration
	seed  uint64
	// settle is how long the controller is left alone then before it is looked at: the Go runtime collects
	// garbage every 2 min at least, and says then what of the heap was alive.
	settle time.Duration
	// controller is the path of its binary.
	controller string
}

// full is what make soak does.
var full = settings{
	nodes: 1000, podsPerNode: 20, sizes: []int{100, 300}, steps: []int{1, 20, 50, 100},
	agents: []int{1, 20, 50, 100, 200}, agentSteps: []int{1, 20, 50, 129},
	limit: 300, rest: time.Minute, seed: 1, settle: 130 * time.Second,
}

// numbers takes a list of numbers from a flag, into a setting.
func numbers(into *[]int) func(string) error {
	return func(text string) error {
		*into = nil
		if text == "none" {
			return nil
		}
		for field := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(field)
			if err != nil || n <= 0 {
				return fmt.Errorf("%q is not a number of 1 or more", field)
			}
			*into = append(*into, n)
		}
		return nil
	}
}

func sum(numbers []int) (sum int) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}

// mostAgents is how many agents there are in the end.
func (s settings) mostAgents() int {
	if len(s.agents) == 0 {
		return 0
	}
	return slices.Max(s.agents)
}

// check says whether there are as many nodes as the steps need. The pods that leave
// need others, which stay.
func (s settings) check() error {
	if need := sum(s.steps) + s.mostAgents(); need >= s.nodes {
		return fmt.Errorf("--steps and --agents are for %d nodes, and there are %d: give more --nodes, or fewer steps", need, s.nodes)
	}
	if drains := sum(s.agentSteps); drains > s.mostAgents() {
		return fmt.Errorf("--agent-steps are %d drains, and there are %d agents: give more --agents, or fewer steps", drains, s.mostAgents())
	}
	if rising := slices.IsSorted(s.agents); !rising {
		return fmt.Errorf("--agents %v must rise: agents are only added", s.agents)
	}
	if rising := slices.IsSorted(append(slices.Clone(s.sizes), s.nodes)); !rising {
		return fmt.Errorf("--sizes %v must rise up to --nodes %d: nodes are only added", s.sizes, s.nodes)
	}
	if s.podsPerNode <= 0 {
		return fmt.Errorf("--pods-per-node %d must be greater than 0", s.podsPerNode)
	}
	return nil
}

// firstNodes is how many nodes the cluster begins with.
func (s settings) firstNodes() int {
	return append(slices.Clone(s.sizes), s.nodes)[0]
}
