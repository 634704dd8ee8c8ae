// SPDX-License-Identifier: Apache-2.0

// Package explain says why a node is not moving, and what would help.
//
//	reason code, where it stands ── Lookup ──▶ what it means, what helps
//	Facts (what somebody has read) ── Explain(facts, now) ──▶ Report: headline, causes, remedies, history
//
// The catalogue has an entry for each reason code of the product. The agent and
// the controller take from it what their messages say that helps; a drain, which knows no
// other room, says the same, and a test compares them. The alerts link to it, and
// docs/reference/reasons.md is made of it.
//
// It is pure: no client, no clock, no goroutine. What could not be read is a fact too.
package explain
