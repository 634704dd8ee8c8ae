// SPDX-License-Identifier: Apache-2.0

// Package sharedpdbs says which nodes have pods of the same disruption budgets: those that have
// none in common may be drained side by side. It is pure.
//
//	pods, PodDisruptionBudgets ──▶ ReadPod, ReadBudget (what counts of them) ──▶ ByNode ──▶ budgets of each node
//
// The controller asks it while a rollout has a choice, and a forecast of that rollout: that both
// name the same order hangs on it.
package sharedpdbs
