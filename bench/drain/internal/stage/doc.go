// SPDX-License-Identifier: Apache-2.0

// Package stage has what the contenders play on: a cluster of its own, Slipway's agents,
// and a fresh workload for each drain.
//
//	Open: control plane, nodes, agents ─▶ Set: namespace, budgets, Deployments, all ready
//	      ─▶ a contender drains ─▶ Strike: all of the workload is gone
//
// Simulated pods end exactly when their annotation says: delete.yaml is a kwok stage
// beside the usual ones, which end a pod at a random moment.
package stage
