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

// maintenanceDomain are the nodes with the same value of the topology key.
type maintenanceDomain struct {
	// Value is empty for nodes without the label, and where there is no key.
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

// domainsOf returns the nodes of a maintenance. The status lists those that are out, as far as it
// has room; the phases of the others follow from Nodes and events.
func domainsOf(m *slipwayv1alpha1.NodeMaintenance, nodes []*corev1.Node, events []*lifecyclev1alpha1.LifecycleEvent) []maintenanceDomain {
	listed := map[string]slipwayv1alpha1.MaintenanceNodePhase{}
	for _, n := range m.Status.NodeStatuses {
		listed[n.Name] = n.Phase
	}
	out := map[string]*lifecyclev1alpha1.LifecycleEvent{}
	for _, event := range events {
		if event.Labels[slipwayv1alpha1.MaintenanceEventLabel] == maintenance.LabelDrain && isFor(event, m.UID) {
			out[event.Spec.BindingNode] = event
		}
	}
	key := ""
	if m.Spec.Rollout != nil {
		key = m.Spec.Rollout.TopologyKey
	}
	var all []maintenanceDomain
	for _, node := range selectedNodes(m.Spec.NodeSelector, nodes) {
		phase, known := listed[node.Name]
		if !known {
			phase = phaseOf(m, node, out[node.Name])
		}
		value := node.Labels[key]
		i := slices.IndexFunc(all, func(d maintenanceDomain) bool { return d.Value == value })
		if i < 0 {
			all, i = append(all, maintenanceDomain{Value: value}), len(all)
		}
		all[i].Nodes = append(all[i].Nodes, maintenanceNode{node.Name, phase})
	}
	slices.SortFunc(all, func(a, b maintenanceDomain) int { return cmp.Compare(a.Value, b.Value) })
	return all
}

func isFor(event *lifecyclev1alpha1.LifecycleEvent, uid types.UID) bool {
	return slices.ContainsFunc(maintenance.Refs(event), func(f maintenance.Ref) bool { return f.UID == uid })
}

// phaseOf returns the phase of a node that the status does not list.
func phaseOf(m *slipwayv1alpha1.NodeMaintenance, node *corev1.Node, event *lifecyclev1alpha1.LifecycleEvent) slipwayv1alpha1.MaintenanceNodePhase {
	state := recordOf(m, node)
	switch {
	case state == maintenance.RecordReturned:
		return slipwayv1alpha1.NodeReturned
	case state == maintenance.RecordFailed:
		return slipwayv1alpha1.NodeFailed
	case state == maintenance.RecordDone:
		return slipwayv1alpha1.NodeReturning
	case event == nil:
		return slipwayv1alpha1.NodeWaiting
	case event.Status.ClaimStatus != lifecyclev1alpha1.Claimed:
		return slipwayv1alpha1.NodeHeld
	default:
		return slipwayv1alpha1.NodeDraining
	}
}

// recordOf returns the record of a maintenance on a Node. A failure that is tried again does not
// count.
func recordOf(m *slipwayv1alpha1.NodeMaintenance, node *corev1.Node) maintenance.RecordState {
	records, err := maintenance.RecordsOn(node)
	if err != nil {
		return "" // Slipway has not written it
	}
	for _, record := range records {
		if record.UID == m.UID && (record.State != maintenance.RecordFailed || record.Retry >= m.Spec.Retry) {
			return record.State
		}
	}
	return ""
}
