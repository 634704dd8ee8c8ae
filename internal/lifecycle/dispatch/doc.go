// SPDX-License-Identifier: Apache-2.0

// Package dispatch calls drivers: one call at a time for an event, each with its
// deadline.
//
//	transition's step ── Call ──▶ gRPC to the driver
//	                                   │ answer, or "ask again"
//	facts ◀── Calls ── memory ◀────────┘ (and a wake-up)
//
// What it remembers only saves asking again: after a restart the driver is asked
// anew. An event that vanishes while its driver is at work is ended with a last call.
// It decides nothing and writes nothing.
package dispatch
