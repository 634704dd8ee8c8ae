// SPDX-License-Identifier: Apache-2.0

// Package oversight decides for the controller: the next step for a node that its agent cannot perform. It is pure: no client,
// no clock, no goroutine, no log.
//
//	Facts (a node's events, its Node, its agent, other nodes) ── Next(facts, now) ──▶ one Step, and the time of the next decision
//
//	Pending   no Node ─▶ noted, then Failed      no agent ─▶ noted      gate of ours ─▶ held, or removed
//	Claimed   no Node ─▶ Failed                  agent dead, or silent when the event is over ─▶ Stalled, then Succeeded, SlaExpired or Failed
//	terminal  agent dead, or overruled ─▶ mark the Node, unprotect, delete
//	NodeHold  taken when the gate is removed ─▶ outlives a drain, or is released by a cancellation, a return, an uncordon
//
// The conditions of the event record each finding with its time: after a crash at any point, Next returns the missing step, or
// a step that is safe to repeat. Only the start of an agent's loss is in memory ([Sighting]), because the clocks of nodes may be
// wrong: after a restart it starts again, unless a condition records it. Package transition defines the ends of events. Oversight
// never performs the steps of a working agent, and leaves events of central drivers to the agents of
// lifecycle/central. An event of a third-party claimer is left to that claimer, until a person releases it.
package oversight
