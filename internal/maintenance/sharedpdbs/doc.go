// SPDX-License-Identifier: Apache-2.0

// Package sharedpdbs finds nodes whose pods share PodDisruptionBudgets: nodes without a common one may be
// drained side by side. It is pure.
//
//	pods, PodDisruptionBudgets ──▶ ReadPod, ReadBudget (the parts that matter) ──▶ ByNode ──▶ budgets of each node
//
// The controller and the forecast of a rollout use it, so both order nodes alike.
package sharedpdbs
