// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// settings of a soak.
type settings struct {
	nodes int
	// steps are how many nodes are drained at once, one step after the other, each of
	// other nodes.
	steps []int
	// limit is how many MiB the controller may take.
	limit int
	// rest is how long the controller is watched before the first step.
	rest time.Duration
	// controller is the path of its binary.
	controller string
}

// full is what make soak does.
var full = settings{nodes: 1000, steps: []int{1, 10, 50, 100}, limit: 300, rest: 20 * time.Second}

// podsPerNode are how many pods there are on each node: each of another app.
const podsPerNode = 10

// setSteps takes the steps from a flag.
func (s *settings) setSteps(text string) error {
	s.steps = nil
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n <= 0 {
			return fmt.Errorf("%q is no number of nodes", field)
		}
		s.steps = append(s.steps, n)
	}
	return nil
}

// check says whether there are as many nodes as the steps need. The pods that leave
// need others, which stay.
func (s settings) check() error {
	sum := 0
	for _, n := range s.steps {
		sum += n
	}
	if sum >= s.nodes {
		return fmt.Errorf("--steps drain %d nodes, and there are %d: give more --nodes, or fewer steps", sum, s.nodes)
	}
	return nil
}
