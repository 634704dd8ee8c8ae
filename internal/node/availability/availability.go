// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
)

// Budget is a NodeAvailabilityBudget.
type Budget = slipwayv1alpha1.NodeAvailabilityBudget

// startup is the time in which a Node that registers becomes Ready for the first time, or sets its first conditions.
const startup = time.Minute

// Node is a node from the budgets' point of view.
type Node struct {
	Name   string
	Labels map[string]string
	// Uncounted: the node was never Ready, or is being deleted.
	Uncounted bool
	// Out is the cause for which the node is out of service, as text. Empty: it is in service.
	Out string
}

// NodeOf converts a Node and its holds. LifecycleEvents are not part of it.
func NodeOf(node *corev1.Node, holds []*hold.Hold) Node {
	n := Node{Name: node.Name, Labels: node.Labels, Uncounted: node.DeletionTimestamp != nil}
	ready := readyCondition(node)
	isReady := ready != nil && ready.Status == corev1.ConditionTrue
	if !isReady && (ready == nil || !ready.LastTransitionTime.After(node.CreationTimestamp.Add(startup))) {
		n.Uncounted = true
	}
	switch {
	case len(holds) > 0:
		n.Out = "held by " + hold.Actor(holds[0])
	case shutdown.AnnouncedOn(node) != nil:
		n.Out = "shuts down"
	case node.Spec.Unschedulable:
		n.Out = "cordoned"
	case !isReady:
		n.Out = "not Ready"
	}
	return n
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c
		}
	}
	return nil
}

// Same returns whether two versions of a Node are equal for the budgets.
func Same(a, b *corev1.Node) bool {
	before, after := NodeOf(a, nil), NodeOf(b, nil)
	return before.Out == after.Out && before.Uncounted == after.Uncounted && maps.Equal(before.Labels, after.Labels)
}

// Group is the nodes for which the limit of a budget applies: all selected nodes or, with a topologyKey, those of one value.
type Group struct {
	Value string
	// Nodes is the number of nodes, Limit how many of them may be out.
	Nodes, Limit int
	// Out are the nodes out of service, by name.
	Out []Node
}

// Allowed returns the number of further nodes that may be taken out.
func (g Group) Allowed() int { return max(0, g.Limit-len(g.Out)) }

// Count counts the nodes that a budget selects, in groups ordered by their values.
func Count(b *Budget, nodes []Node) ([]Group, error) {
	selector, err := metav1.LabelSelectorAsSelector(&b.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	byValue := map[string]*Group{}
	for _, n := range nodes {
		if n.Uncounted || !selector.Matches(labels.Set(n.Labels)) {
			continue
		}
		value := n.Labels[b.Spec.TopologyKey]
		if byValue[value] == nil {
			byValue[value] = &Group{Value: value}
		}
		g := byValue[value]
		g.Nodes++
		if n.Out != "" {
			g.Out = append(g.Out, n)
		}
	}
	groups := make([]Group, 0, len(byValue))
	for _, value := range slices.Sorted(maps.Keys(byValue)) {
		g := byValue[value]
		if g.Limit, err = limit(b.Spec, g.Nodes); err != nil {
			return nil, err
		}
		slices.SortFunc(g.Out, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
		groups = append(groups, *g)
	}
	return groups, nil
}

// limit returns the number of nodes that may be out of service, of the given number. Percentages are rounded up, as in a PodDisruptionBudget.
func limit(spec slipwayv1alpha1.NodeAvailabilityBudgetSpec, nodes int) (int, error) {
	if spec.MinAvailable != nil {
		available, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, nodes, true)
		if err != nil {
			return 0, fmt.Errorf("spec.minAvailable: %w", err)
		}
		return max(0, nodes-available), nil
	}
	unavailable, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, nodes, true)
	if err != nil {
		return 0, fmt.Errorf("spec.maxUnavailable: %w", err)
	}
	return unavailable, nil
}

// Objection returns the cause for which the budgets let no event take the node out of service now. It is empty if they
// allow it, and for a node out of service.
func Objection(budgets []*Budget, nodes []Node, name string) string {
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == name })
	if i < 0 || nodes[i].Out != "" || nodes[i].Uncounted {
		return ""
	}
	for _, b := range byName(budgets) {
		selector, err := metav1.LabelSelectorAsSelector(&b.Spec.Selector)
		if err != nil {
			return fmt.Sprintf("NodeAvailabilityBudget %q: spec.selector: %v", b.Name, err)
		}
		if !selector.Matches(labels.Set(nodes[i].Labels)) {
			continue
		}
		groups, err := Count(b, nodes)
		if err != nil {
			return fmt.Sprintf("NodeAvailabilityBudget %q: %v", b.Name, err)
		}
		value := nodes[i].Labels[b.Spec.TopologyKey]
		for _, g := range groups {
			if g.Value == value && g.Allowed() == 0 {
				return fmt.Sprintf("NodeAvailabilityBudget %q allows at most %d of %d nodes%s out of service; out of service: %s",
					b.Name, g.Limit, g.Nodes, ofGroup(b, value), text(g.Out))
			}
		}
	}
	return ""
}

// Excess returns the cause for which a budget can never let all these nodes be out of service at the same time. It is empty
// if the budgets can.
func Excess(budgets []*Budget, nodes []Node, together []string) string {
	wanted := slices.Clone(nodes)
	for i := range wanted {
		wanted[i].Out = ""
		if slices.Contains(together, wanted[i].Name) {
			wanted[i].Out = "wanted"
		}
	}
	for _, b := range byName(budgets) {
		groups, err := Count(b, wanted)
		if err != nil {
			continue // Objection shows it
		}
		for _, g := range groups {
			if len(g.Out) > g.Limit {
				return fmt.Sprintf("NodeAvailabilityBudget %q allows at most %d of %d nodes%s out of service, and %d of them would be at the same time",
					b.Name, g.Limit, g.Nodes, ofGroup(b, g.Value), len(g.Out))
			}
		}
	}
	return ""
}

func byName(budgets []*Budget) []*Budget {
	return slices.SortedFunc(slices.Values(budgets), func(a, b *Budget) int { return cmp.Compare(a.Name, b.Name) })
}

func ofGroup(b *Budget, value string) string {
	if b.Spec.TopologyKey == "" {
		return ""
	}
	return fmt.Sprintf(" with %s=%s", b.Spec.TopologyKey, value)
}

// text names nodes with the causes, for messages.
func text(out []Node) string {
	const shown = 5
	if len(out) == 0 {
		return "none"
	}
	var texts []string
	for _, n := range out[:min(len(out), shown)] {
		texts = append(texts, fmt.Sprintf("%s (%s)", n.Name, n.Out))
	}
	if more := len(out) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// maxNodes limits status.unavailableNodes.
const maxNodes = 64

// Status returns the status of a budget.
func Status(b *Budget, nodes []Node) slipwayv1alpha1.NodeAvailabilityBudgetStatus {
	status := slipwayv1alpha1.NodeAvailabilityBudgetStatus{ObservedGeneration: b.Generation}
	groups, err := Count(b, nodes)
	if err != nil {
		status.Message = err.Error()
		return status
	}
	for _, g := range groups {
		status.Nodes += int32(g.Nodes)
		status.Unavailable += int32(len(g.Out))
		status.DisruptionsAllowed += int32(min(g.Allowed(), g.Nodes-len(g.Out)))
		for _, n := range g.Out[:min(len(g.Out), maxNodes-len(status.UnavailableNodes))] {
			status.UnavailableNodes = append(status.UnavailableNodes, slipwayv1alpha1.UnavailableNode{Name: n.Name, Group: g.Value, Reason: n.Out})
		}
	}
	slices.SortFunc(status.UnavailableNodes, func(a, b slipwayv1alpha1.UnavailableNode) int { return cmp.Compare(a.Name, b.Name) })
	return status
}
