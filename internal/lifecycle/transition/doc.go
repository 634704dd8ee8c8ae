// SPDX-License-Identifier: Apache-2.0

// Package transition decides: given all that is known of one node, what is the next
// step? It is pure. No client, no clock, no goroutine, no log.
//
//	Facts (API objects, drivers, calls) ── Next(facts, now) ──▶ one Step, and when to ask again
//
// The events of a node are worked on one at a time:
//
//	Pending ─ claim ─▶ Claimed ─ protect, start, mark the node, end … ─▶ terminal ─ unprotect, delete
//
// What has been done for an event is read from that event's status and finalizers,
// never from memory: after a crash at any point, Next gives the step that was not
// done, or one that may be done twice. What is in memory (calls to drivers and their
// last answers) only saves asking again.
package transition
