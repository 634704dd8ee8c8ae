// SPDX-License-Identifier: Apache-2.0

// Package explain finds the causes that block a node, and remedies.
//
//	Facts ── Explain(facts, now) ──▶ Report: headline, causes, remedies, history
//
// A cause has a reason code. The catalogue has its meaning; the tables blockerExplainers and
// conditionExplainers add facts and remedies to it.
//
// The package is pure: no client, no clock, no goroutine. A failed read is a fact, too.
package explain
