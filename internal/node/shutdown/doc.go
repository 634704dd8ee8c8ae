// SPDX-License-Identifier: Apache-2.0

// Package shutdown decides about the shutdown of a node's machine (KEP-5683, "graceful node
// shutdown"; the names of the states are KEP-5683's Draining and ShuttingDown).
//
//	on the machine   logind, boot ID, the Node ── Hold(facts, now) ──▶ take the lock, announce, withdraw, release it
//	                                                      │ annotation slipway.dev/shutdown
//	                                                      ▼
//	controller       the Node, its LifecycleEvents ── Next(facts, now) ──▶ an event; what became of it; the return
//	                                                      │ annotation slipway.dev/shutdown-drain
//	                                                      ▼
//	on the machine   ... and Hold lets the machine go
//
// All that is remembered is on the Node and in the event: whoever begins anew in the middle
// goes on. A Node with another boot ID than was announced has booted since.
//
// It is pure: no client, no clock, no goroutine.
package shutdown
