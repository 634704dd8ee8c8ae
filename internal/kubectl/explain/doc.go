// SPDX-License-Identifier: Apache-2.0

// Package explain says why a node is not moving, and what would help.
//
//	Facts (what somebody has read) ── Explain(facts, now) ──▶ Report: headline, causes, remedies, history
//
// It is pure: no client, no clock, no goroutine. What could not be read is a fact too.
package explain
