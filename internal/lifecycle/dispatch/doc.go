// SPDX-License-Identifier: Apache-2.0

// Package dispatch calls drivers: one call at a time for an event, each with its
// deadline.
//
//	transition's step ── Call ──▶ gRPC to the driver
//	                                   │ answer, or "try again"
//	facts ◀── Calls ── memory ◀────────┘ (and a wake-up)
//
// Its memory only saves calls: after a restart, the agent calls the driver again. If an
// event was deleted while its driver was working, a last call ends the work. The package
// decides nothing, and writes nothing to the API server.
package dispatch
