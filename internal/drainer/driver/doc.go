// SPDX-License-Identifier: Apache-2.0

// Package driver is the drain driver: it speaks the driver contract on one side,
// and drains or returns the node on the other.
//
//	agent ── Start, End ──▶ driverkit ──▶ drain:  node/state (cordon) → drain (evict, wait)
//	                                 │            └─▶ node/state: which static pods are to be away
//	                                 └──▶ return: node/state (uncordon what is ours)
//	agent ◀── progress, blockers, conditions ──┘
//
// One run per event; one process for a node, or in central mode for all of them. It
// keeps nothing: a run that is begun again goes on with what the cluster shows. It
// writes no LifecycleEvents, and decides neither which pods leave nor when.
package driver
