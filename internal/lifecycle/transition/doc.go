// SPDX-License-Identifier: Apache-2.0

// Package transition decides the next step for the LifecycleEvents of one node. It is pure:
// no client, no clock, no goroutine, no log.
//
//	Facts (API objects, drivers, calls) ── Next(facts, now) ──▶ one Step, and when to ask again
//
// The node's events are in work one at a time. Each phase has a file:
//
//	claims.go    which of the two claimers, agent or controller, an event concerns
//	pending.go   Pending: wait for gates, transition, driver, turn; then claim
//	claimed.go   Claimed: protect, call the driver, report, mark the Node
//	ending.go    canceled, late, failed or succeeded: tell the driver, write the phase, release
//	cleanup.go   delete ended events, and what drivers left on the node
//
// work.go derives what the phases of the event in work need. timing.go has all timeouts. answer.go compares a driver's
// answer with the contract and folds it into the status. node.go writes the Node's conditions.
//
// The event's status and finalizers record the finished steps. After a crash at any point, Next returns the missing step, or
// a step that is safe to repeat. The memory of calls to drivers and their last answers only saves calls.
package transition
