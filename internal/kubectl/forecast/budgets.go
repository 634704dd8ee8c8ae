// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"slices"

	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

// withBudgets are the nodes, each with the budgets of its pods: nodes that share none go
// together.
func withBudgets(f Facts) []maintenance.Node {
	var pods []sharedpdbs.Pod
	for _, pod := range f.Cluster.Pods {
		if read, wanted := sharedpdbs.ReadPod(pod); wanted {
			pods = append(pods, read)
		}
	}
	var budgets []sharedpdbs.Budget
	for _, all := range f.Cluster.Drains.Budgets {
		for _, b := range all {
			if read, wanted := sharedpdbs.ReadBudget(b); wanted {
				budgets = append(budgets, read)
			}
		}
	}
	by := sharedpdbs.ByNode(pods, budgets)
	nodes := slices.Clone(f.Maintenances.Nodes)
	for i, n := range nodes {
		nodes[i].Budgets = by[n.Name]
	}
	return nodes
}
