// SPDX-License-Identifier: Apache-2.0

// Package deadlock finds nodes whose drains wait for each other, and says which of them gives
// way.
//
//	drains, budgets, pods that no node takes ── Next(facts, now) ──▶ cycles, and who gives way
//
// Two nodes are being drained, and both are cordoned. A pod of budget X has left node A, one
// of budget Y has left node B, and what replaces them can run on these two nodes only. B is
// refused by X until that pod runs, A by Y: neither drain ever ends.
//
// # When it is one
//
// A drain stands still if all of its pods that are left are refused by budgets, and nothing
// of that has changed for [Patience]. A budget is starved if it allows no disruption even when
// all of its pods are healthy but those that the scheduler has found no node for, for as long;
// and would allow one if these ran. A drain is in a deadlock if one of its budgets is starved,
// and each node that is out on which those pods could run is in the deadlock as well: no node
// that comes back by itself would give them room. Nodes that are in it and wait for each
// other are a cycle.
//
// So a drain that moves, waits for something else, or is over and has its work done, is hope
// for all that could run there, and there is no deadlock. What the scheduler asks for besides
// labels, node affinity and taints (resources, anti-affinity, volumes) is not looked at: a
// node that might help counts as one that does.
//
// # Who gives way
//
// One node of a cycle, if the others come back by themselves once they are drained: of those
// that may give way the one that has the fewest pods to lose, of these the one that began
// last. It is pure: no client, no clock, no goroutine. It does not know how a node is returned.
package deadlock
