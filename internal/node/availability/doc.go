// SPDX-License-Identifier: Apache-2.0

// Package availability counts the nodes of NodeAvailabilityBudgets, and decides whether the next one may leave
// service.
//
//	Node, its holds, its shutdown ── NodeOf ──▶ Node ──┐
//	NodeAvailabilityBudget ────────────────────────┴── Count ──▶ groups, with the nodes that are out
//
// It is pure. lifecycle/oversight holds events back by it, and lifecycle/central writes the status of budgets.
package availability
