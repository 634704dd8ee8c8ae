// SPDX-License-Identifier: Apache-2.0

// Package shutdown decides about the shutdown of a node's machine (KEP-5683, "graceful node shutdown"; the states have
// its names Draining and ShuttingDown).
//
//	on the machine   logind, boot ID, the Node ── Hold(facts, now) ──▶ take the lock, announce, withdraw, release it
//	                                                      │ annotation slipway.dev/shutdown
//	                                                      ▼
//	controller       the Node, its LifecycleEvents ── Next(facts, now) ──▶ an event; its outcome; the return
//	                                                      │ annotation slipway.dev/shutdown-drain
//	                                                      ▼
//	on the machine   ... and Hold releases the machine
//
// The memory is on the Node and in the event: a new process continues. A Node whose boot ID differs from the announced
// one has booted since.
//
// It is pure: no client, no clock, no goroutine.
package shutdown
