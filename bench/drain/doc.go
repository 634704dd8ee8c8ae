// SPDX-License-Identifier: Apache-2.0

// Command drain measures how long drains take, and what they ask of the API server:
// kubectl's, an ideal one, and Slipway's, in turns, on the same workload.
//
//	own cluster ─▶ for each repetition, scenario, contender:
//	    stage.Set ─▶ contender.Drain ─▶ Return ─▶ stage.Strike ─▶ measure.Of(audit log)
//	─▶ report: a table, results.json, a chart, the README
//
// What a contender is measured by is in the API server's audit log; the same log shows
// whether Slipway has kept its promises (test/auditcheck).
package main
