// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// withBudgets are the nodes, each with the budgets of its pods: nodes that share none go
// together.
func withBudgets(f Facts) []maintenance.Node {
	by := budgetsByNode(f.Cluster.Pods, f.Cluster.Drains.Budgets)
	nodes := slices.Clone(f.Maintenances.Nodes)
	for i, n := range nodes {
		nodes[i].Budgets = slices.Sorted(maps.Keys(by[n.Name]))
	}
	return nodes
}

// guard is a budget whose selector is read once for all pods.
type guard struct {
	name     string
	selector labels.Selector
}

// budgetsByNode are the budgets of the pods of each node that evictions ask, as namespace/name.
func budgetsByNode(pods []*corev1.Pod, budgets map[string][]*policyv1.PodDisruptionBudget) map[string]map[string]bool {
	guards := map[string][]guard{}
	for namespace, all := range budgets {
		for _, b := range all {
			if selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil {
				guards[namespace] = append(guards[namespace], guard{namespace + "/" + b.Name, selector})
			}
		}
	}
	by := map[string]map[string]bool{}
	for _, pod := range pods {
		if !isEvicted(pod) {
			continue
		}
		for _, g := range guards[pod.Namespace] {
			if !g.selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			if by[pod.Spec.NodeName] == nil {
				by[pod.Spec.NodeName] = map[string]bool{}
			}
			by[pod.Spec.NodeName][g.name] = true
		}
	}
	return by
}

// isEvicted leaves out the pods that stay on their node, or have ended.
func isEvicted(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner == nil || owner.Kind != "DaemonSet"
}
