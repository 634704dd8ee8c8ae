// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// state is who is where, while nodes are chosen.
type state struct {
	rollout slipwayv1alpha1.MaintenanceRollout
	// nodes are all that are selected, and waiting those that have not begun, both by name.
	nodes, waiting []*Node
	// out are those that are out or down, and outIn how many of them each domain has.
	out   []*Node
	outIn map[string]int
	// before are those that had begun before, and are out; begun are those that begin now.
	before, begun []*Node
	// returned and failed are done with.
	returned int
	failed   []*Node
	// controlPlaneOut are all nodes of the control plane that are out or down.
	controlPlaneOut []string
	pendingPods     int
	pendingNames    []string
	// budgets of the nodes that are out.
	budgets map[string]bool
}

func survey(f Facts) *state {
	s := &state{
		rollout: f.Rollout, pendingPods: f.PendingPods, pendingNames: f.PendingNames, controlPlaneOut: slices.Clone(f.ControlPlaneOut),
		outIn: map[string]int{}, budgets: map[string]bool{},
	}
	for i := range f.Nodes {
		s.nodes = append(s.nodes, &f.Nodes[i])
	}
	slices.SortFunc(s.nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	for _, n := range s.nodes {
		switch n.State {
		case Waiting:
			s.waiting = append(s.waiting, n)
		case Out:
			s.before = append(s.before, n)
		case Failed:
			s.before = append(s.before, n)
			s.failed = append(s.failed, n)
		case FailedBack:
			s.failed = append(s.failed, n)
		case Returned:
			s.returned++
		case HeldBack: // neither out, nor one of those that may begin
		}
		if isOut(n) {
			s.takeOut(n)
		}
	}
	return s
}

// isOut counts what is down as well, whatever the reason.
func isOut(n *Node) bool {
	return n.State == Out || n.State == Failed || n.Down
}

func (s *state) takeOut(n *Node) {
	s.out = append(s.out, n)
	s.outIn[n.Domain]++
	if n.ControlPlane && !slices.Contains(s.controlPlaneOut, n.Name) {
		s.controlPlaneOut = append(s.controlPlaneOut, n.Name)
	}
	for _, b := range n.Budgets {
		s.budgets[b] = true
	}
}

// begin counts a node that was chosen.
func (s *state) begin(n *Node) {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *Node) bool { return w == n })
	s.begun = append(s.begun, n)
	if !n.Down {
		s.takeOut(n)
	}
}

// atWork are those that have begun and are neither back nor failed.
func (s *state) atWork() []*Node {
	return slices.Concat(s.begun, among(s.before, func(n *Node) bool { return n.State == Out }))
}

func (s *state) workersAtWork() []*Node {
	return among(s.atWork(), func(n *Node) bool { return !n.ControlPlane })
}

// listed is how many names a message has at most.
const listed = 10

func list(nodes []*Node) string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return listNames(names)
}

func listNames(names []string) string {
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
}

func nodes(count int) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}

func have(count int) string {
	if count == 1 {
		return "1 node has"
	}
	return fmt.Sprintf("%d nodes have", count)
}

func are(count int) string {
	if count == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", count)
}

// naming says which nodes are of a domain.
func (s *state) naming(domain string) string {
	if domain == "" {
		return "the nodes without label " + s.rollout.TopologyKey
	}
	return "the nodes with " + s.rollout.TopologyKey + "=" + domain
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
