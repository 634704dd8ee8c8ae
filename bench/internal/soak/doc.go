// SPDX-License-Identifier: Apache-2.0

// Package soak puts Slipway under the load of a large cluster, and measures what holds: memory and CPU
// from /proc, watch traffic from the API server's metrics, requests and invariants from its audit log.
//
//	Scale: 100, 300, NODES simulated nodes ─▶ controller at rest (--builtin-drivers=drain)
//	   ─▶ pods, PDBs ─▶ the controller drains 1, 20, … nodes at once
//	   ─▶ 1, 20, … agents in one process, at rest; they drain 1, 20, … nodes at once
//	   ─▶ tables, plots, linear regressions, and what those say of larger clusters
//	Mixed: drains, returns, EvictionRequests and maintenances, again and again
//	   ─▶ the controller at rest, before and after: growth is a leak
//
// Both fail if a drain does not succeed, an invariant is violated, or the controller takes more than it may.
package soak
