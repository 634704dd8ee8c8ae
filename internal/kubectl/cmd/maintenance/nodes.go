// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// maintenanceDomain has the nodes with the same value of the topology key.
type maintenanceDomain struct {
	// Value is empty for nodes without the label, and without a key.
	Value string            `json:"value"`
	Nodes []maintenanceNode `json:"nodes"`
}

// maintenanceNode is a node of a maintenance, with its phase.
type maintenanceNode struct {
	Name  string                               `json:"name"`
	Phase slipwayv1alpha1.MaintenanceNodePhase `json:"phase"`
}

// selectedNodes returns the nodes that a selector selects, by name.
func selectedNodes(selector corev1.NodeSelector, nodes []*corev1.Node) []*corev1.Node {
	matcher := nodeaffinity.NewLazyErrorNodeSelector(&selector)
	var all []*corev1.Node
	for _, node := range nodes {
		if matches, err := matcher.Match(node); err == nil && matches {
			all = append(all, node)
		}
	}
	slices.SortFunc(all, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// addNodes adds all nodes that the maintenance selects, in their domains. The status lists only nodes
// that are out of service; the phases of the other nodes follow from Nodes and events.
func (r *maintenanceRow) addNodes(nodes []*corev1.Node, events []*lifecyclev1alpha1.LifecycleEvent) {
	m := r.of
	drains := map[string]*lifecyclev1alpha1.LifecycleEvent{}
	for _, event := range events {
		if event.Labels[slipwayv1alpha1.MaintenanceEventLabel] == maintenance.LabelDrain && isFor(event, m.UID) {
			drains[event.Spec.BindingNode] = event
		}
	}
	key := ""
	if m.Spec.Rollout != nil {
		key = m.Spec.Rollout.TopologyKey
	}
	for _, node := range selectedNodes(m.Spec.NodeSelector, nodes) {
		phase := listedStatus(m, node.Name).Phase
		if phase == "" {
			phase = phaseOf(m, node, drains[node.Name])
		}
		value := node.Labels[key]
		i := slices.IndexFunc(r.Domains, func(d maintenanceDomain) bool { return d.Value == value })
		if i < 0 {
			r.Domains, i = append(r.Domains, maintenanceDomain{Value: value}), len(r.Domains)
		}
		r.Domains[i].Nodes = append(r.Domains[i].Nodes, maintenanceNode{node.Name, phase})
	}
	slices.SortFunc(r.Domains, func(a, b maintenanceDomain) int { return cmp.Compare(a.Value, b.Value) })
}

func isFor(event *lifecyclev1alpha1.LifecycleEvent, uid types.UID) bool {
	return slices.ContainsFunc(maintenance.Refs(event), func(f maintenance.Ref) bool { return f.UID == uid })
}

// phaseOf returns the phase of a node that the status does not list. A recorded failure does not
// count after a retry.
func phaseOf(m *slipwayv1alpha1.NodeMaintenance, node *corev1.Node, event *lifecyclev1alpha1.LifecycleEvent) slipwayv1alpha1.MaintenanceNodePhase {
	records, _ := maintenance.RecordsOn(node) // Slipway writes no record that it cannot read
	for _, record := range records {
		if record.UID != m.UID || record.State == maintenance.RecordFailed && record.Retry < m.Spec.Retry {
			continue
		}
		switch record.State {
		case maintenance.RecordReturned:
			return slipwayv1alpha1.NodeReturned
		case maintenance.RecordFailed:
			return slipwayv1alpha1.NodeFailed
		case maintenance.RecordDone:
			return slipwayv1alpha1.NodeReturning
		default: // the event shows more
		}
	}
	switch {
	case event == nil:
		return slipwayv1alpha1.NodeWaiting
	case event.Status.ClaimStatus != lifecyclev1alpha1.Claimed:
		return slipwayv1alpha1.NodeHeld
	default:
		return slipwayv1alpha1.NodeDraining
	}
}
