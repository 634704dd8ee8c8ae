// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// choose is the node that begins next, or what holds back those that wait.
func (s *state) choose() (*Node, hold) {
	if s.rollout.Batches && len(s.before) > 0 {
		return nil, hold{slipwayv1alpha1.ReasonMaxUnavailable, fmt.Sprintf("the next batch begins when all have returned that are out: %s", list(s.before))}
	}
	if h, paused := s.pause(); paused {
		return nil, h
	}
	turn := s.turn()
	var first hold
	var fit []*Node
	for _, n := range turn {
		if h, held := s.held(n); held {
			if first.reason == "" {
				first = h
			}
			continue
		}
		fit = append(fit, n)
	}
	if len(fit) == 0 {
		if len(turn) == 0 {
			first = s.unfinished()
		}
		return nil, first
	}
	return s.best(fit), hold{}
}

// turn are the nodes whose turn it is: workers before the control plane, and one domain
// before the next.
func (s *state) turn() []*Node {
	turn := s.group()
	if s.rollout.TopologyKey == "" || s.rollout.PerDomain != nil {
		return turn
	}
	current := s.currentDomain(turn)
	return among(turn, func(n *Node) bool { return n.Domain == current })
}

// group are the workers that wait, or what waits of the control plane.
func (s *state) group() []*Node {
	if workers := among(s.waiting, func(n *Node) bool { return !n.ControlPlane }); len(workers) > 0 {
		return workers
	}
	return s.waiting
}

// currentDomain is the one that has begun; else, the first that has nodes that wait or are
// down.
func (s *state) currentDomain(turn []*Node) string {
	unfinished := slices.Concat(s.before, s.begun)
	if len(unfinished) == 0 {
		unfinished = slices.Concat(turn, s.out)
	}
	first := unfinished[0].Domain
	for _, n := range unfinished {
		first = min(first, n.Domain)
	}
	return first
}

// unfinished is why the next domain does not begin.
func (s *state) unfinished() hold {
	current := s.currentDomain(s.group())
	out := among(s.out, func(n *Node) bool { return n.Domain == current })
	return hold{slipwayv1alpha1.ReasonMaxUnavailable, fmt.Sprintf("the next domain begins when %s are back: %s", s.naming(current), list(out))}
}

// held says what holds a node back whose turn it is.
func (s *state) held(n *Node) (hold, bool) {
	if n.ControlPlane {
		if out := slices.DeleteFunc(slices.Clone(s.controlPlaneOut), func(name string) bool { return name == n.Name }); len(out) > 0 {
			slices.Sort(out)
			return hold{slipwayv1alpha1.ReasonMaxUnavailable, fmt.Sprintf("one node of the control plane may be out, and %s: %s", are(len(out)), listNames(out))}, true
		}
	}
	if n.Down {
		return hold{}, false
	}
	if h, full := s.full(); full {
		return h, true
	}
	return s.domainFull(n.Domain)
}

// best is the first of those that cost nothing, else of those that share no budget with a
// node that is out, else of all.
func (s *state) best(fit []*Node) *Node {
	for _, n := range fit {
		if n.Down {
			return n
		}
	}
	for _, n := range fit {
		if !slices.ContainsFunc(n.Budgets, func(b string) bool { return s.budgets[b] }) {
			return n
		}
	}
	return fit[0]
}
