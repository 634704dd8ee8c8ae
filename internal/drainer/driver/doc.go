// SPDX-License-Identifier: Apache-2.0

// Package driver is the drain driver: it speaks the driver contract on one side,
// and drains or returns the node on the other.
//
//	agent ── Start, End ──▶ driverkit ──▶ drain:  node/state (cordon) → drain (evict, wait)
//	                                 │            └─▶ node/state: static pods to remove
//	                                 └──▶ return: node/state (remove its own cordons)
//	agent ◀── progress, blockers, conditions ──┘
//
// It has one run for each event, and one process for a node, or in central mode for all nodes. It
// keeps nothing: after a restart, a run continues from the state of the cluster. It
// writes no LifecycleEvents, and decides neither which pods leave nor when.
package driver
