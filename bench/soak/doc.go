// SPDX-License-Identifier: Apache-2.0

// Command soak puts Slipway under the load of a large cluster, and measures what holds: memory from
// /proc, requests and kept promises from the API server's audit log.
//
//	own cluster: NODES simulated nodes with their pods, budgets
//	   ─▶ controller (a process, its own rights, --claim-mode=central) ─▶ 0, 1, 10, … nodes drained at once
//	   ─▶ memory while they are, time, requests, promises ─▶ results in JSON, a table in Markdown
//
// It fails if a drain does not succeed, a promise is broken, or the controller takes more memory than
// it may. A tenth of it is a test.
package main
