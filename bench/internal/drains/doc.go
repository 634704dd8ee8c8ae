// SPDX-License-Identifier: Apache-2.0

// Package drains measures how long drains take, and what they request from the API server:
// kubectl's, an ideal evictor's, and Slipway's, in turns, on the same workload.
//
//	Scenario + seed + repetition ─▶ apps ─▶ Bench.Run: create, drain, return, remove
//	   ─▶ Run (from the audit log) ─▶ Results ─▶ Markdown, Chart
//
// The API server's audit log shows what a contender did; the same log shows whether Slipway
// kept its invariants (test/auditcheck).
package drains
