// SPDX-License-Identifier: Apache-2.0

// Command soak puts Slipway under the load of a large cluster, and measures what holds: memory and CPU from
// /proc, watch traffic from the API server's metrics, requests and kept promises from its audit log.
//
//	own cluster: 100, 300, NODES simulated nodes ─▶ controller at rest (a process, its own rights, --claim-mode=central)
//	   ─▶ their pods, budgets ─▶ the controller drains 1, 20, … nodes at once
//	   ─▶ 1, 20, … agents in one process, at rest; they drain 1, 20, … nodes at once
//	   ─▶ results in JSON ─▶ tables, plots, lines, and what those say of larger clusters
//
//	--mixed=1h: a small cluster instead; drains, returns, EvictionRequests and maintenances, again and again
//	   ─▶ the controller at rest, before and after: what it has not given back it leaks
//
// It fails if a drain does not succeed, a promise is broken, or the controller takes more memory than
// it may. A tenth of it is a test.
package main
