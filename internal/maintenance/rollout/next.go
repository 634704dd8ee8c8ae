// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strings"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Facts are the state of a maintenance and its nodes.
type Facts struct {
	Rollout slipwayv1alpha1.MaintenanceRollout
	// Nodes are the nodes that the maintenance selects, in any order.
	Nodes []Node
	// ControlPlaneOut are the nodes of the control plane that are out of service or down, also if other
	// maintenances select them or let them begin now.
	ControlPlaneOut []string
	// PendingPods counts the pods that are Pending or not Ready and were created since the maintenance
	// began. PendingNames are the first few of them, as namespace/name.
	PendingPods  int
	PendingNames []string
}

// Node is a selected node.
type Node struct {
	Name  string
	State State
	// Domain is its value of the topology key.
	Domain       string
	ControlPlane bool
	// Down: it is not Ready, or another maintenance has it out of service. It counts as unavailable.
	Down bool
	// Budgets are the PodDisruptionBudgets of its pods, as namespace/name. Nodes without a common budget
	// begin together, before nodes with one. The budgets are known for all nodes, or for none: if
	// Decision.Budgets is set, the caller should wait for them before it carries the decision out.
	Budgets []string
}

// State is the state of a node in a rollout.
type State int

// The states.
const (
	// Waiting: it has not begun.
	Waiting State = iota
	// Out: it has begun, and has not returned.
	Out
	// Returned: it has returned.
	Returned
	// Failed: it has failed, and is still out of service. It counts as unavailable.
	Failed
	// FailedBack: it has failed, and is schedulable.
	FailedBack
	// HeldBack: it waits, is schedulable, and must not begin yet.
	HeldBack
)

// Decision is the result of [Next].
type Decision struct {
	// Begin are the names of the nodes that begin now, in order.
	Begin []string
	// Reason is the code of the limit that holds the remaining nodes, such as ReasonMaxUnavailable of
	// slipwayv1alpha1. Empty: no node waits.
	Reason string
	// Message explains the reason.
	Message string
	// Budgets: the order depends on the budgets of the nodes, now or when other nodes return.
	Budgets bool
}

// Next decides which nodes begin now. The order of the nodes in the facts does not matter.
//
// Workers begin first. The control plane begins when all workers have returned: one of its nodes at a time
// in the whole cluster. Nodes that are already down begin before other nodes, without a limit on
// unavailable nodes, as that makes no further node unavailable. Next come the nodes that share no
// PodDisruptionBudget with an unavailable node, by name, and then the remaining ones.
//
// With a topology key and without perDomain, a domain begins after all nodes of the one before it, by
// name, have begun, and none of them is unavailable. A domain that has begun comes before one with new
// waiting nodes. Waiting nodes of the control plane do not delay the domains of workers; they begin domain
// by domain as well.
//
// With perDomain, maxUnavailable has no default. A batch ends when all of its nodes have returned. With
// pauseAfter, only as many nodes begin as may return before the pause. A failed node that is schedulable
// counts only for failureThreshold.
func Next(f Facts) Decision {
	s := survey(f)
	if len(s.waiting) == 0 {
		return Decision{}
	}
	d := Decision{Budgets: s.asksBudgets()}
	held := s.brake()
	for held.reason == "" && len(s.waiting) > 0 {
		var n *Node
		if n, held = s.choose(); n != nil {
			s.begin(n)
			d.Begin = append(d.Begin, n.Name)
		}
	}
	d.Reason, d.Message = held.reason, held.message
	return d
}

// state is the state of the nodes while Next chooses.
type state struct {
	Facts
	// nodes are all selected nodes, and waiting those that have not begun, both by name.
	nodes, waiting []*Node
	// unavailable nodes are out of service or down.
	unavailable []*Node
	inDomain    map[string]int // the number of unavailable nodes
	budgets     map[string]bool
	// before are the unavailable nodes that have begun earlier; begun are the nodes that begin now.
	before, begun []*Node
	failed        []*Node
	returned      int
}

func survey(f Facts) *state {
	s := &state{Facts: f, inDomain: map[string]int{}, budgets: map[string]bool{}}
	s.ControlPlaneOut = slices.Clone(f.ControlPlaneOut)
	for i := range f.Nodes {
		s.nodes = append(s.nodes, &f.Nodes[i])
	}
	slices.SortFunc(s.nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	for _, n := range s.nodes {
		switch n.State {
		case Waiting:
			s.waiting = append(s.waiting, n)
		case Out, Failed:
			s.before = append(s.before, n)
		case Returned:
			s.returned++
		case FailedBack, HeldBack:
		}
		if n.State == Failed || n.State == FailedBack {
			s.failed = append(s.failed, n)
		}
		if n.State == Out || n.State == Failed || n.Down {
			s.takeOut(n)
		}
	}
	return s
}

func (s *state) takeOut(n *Node) {
	s.unavailable = append(s.unavailable, n)
	s.inDomain[n.Domain]++
	if n.ControlPlane && !slices.Contains(s.ControlPlaneOut, n.Name) {
		s.ControlPlaneOut = append(s.ControlPlaneOut, n.Name)
	}
	for _, b := range n.Budgets {
		s.budgets[b] = true
	}
}

// begin counts a chosen node.
func (s *state) begin(n *Node) {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *Node) bool { return w == n })
	s.begun = append(s.begun, n)
	if !n.Down {
		s.takeOut(n)
	}
}

// inProgress returns the nodes that have begun, and have neither returned nor failed.
func (s *state) inProgress() []*Node {
	return slices.Concat(s.begun, among(s.before, func(n *Node) bool { return n.State == Out }))
}

func (s *state) workersInProgress() []*Node {
	return among(s.inProgress(), func(n *Node) bool { return !n.ControlPlane })
}

func among(all []*Node, is func(*Node) bool) []*Node {
	var some []*Node
	for _, n := range all {
		if is(n) {
			some = append(some, n)
		}
	}
	return some
}
