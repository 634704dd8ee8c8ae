// SPDX-License-Identifier: Apache-2.0

// Package deadlock finds nodes whose drains wait for each other, and decides which of them gives way.
//
//	drains, budgets, unschedulable pods ── Next(facts, now) ──▶ cycles, and the node that gives way
//
// Two nodes are cordoned, and their drains run. A pod of PodDisruptionBudget (PDB) X has left node A, a
// pod of PDB Y has left node B, and their replacements can run only on these two nodes. PDB X refuses
// the evictions from B until its pod runs, and Y refuses those from A: neither drain ever ends.
//
// # The definition
//
// A drain stands still if PDBs have refused the evictions of all its remaining pods for [Patience]. A
// PDB is starved if it allows no disruption even if all of its pods are healthy, except those that have
// been unschedulable for that time; and would allow one if these ran. A drain is in a deadlock if one
// of its PDBs is starved, and each drained node on which those pods could run is in the deadlock as
// well: no node that returns by itself would give them room. Nodes in a deadlock that wait for each
// other are a cycle.
//
// So there is no deadlock while another drain can still end: if pods leave, if something else blocks it,
// or if its node has yet to return. The package ignores the other needs of pods (resources,
// anti-affinity, volumes): a node that might help counts as one with room.
//
// # The node that gives way
//
// One node of a cycle gives way, if the other nodes return by themselves once they are drained: among
// the nodes that may, the one from which the fewest pods have left, and then the one whose drain began
// last. The package is pure: no client, no clock, no goroutine. It does not return the node.
package deadlock
