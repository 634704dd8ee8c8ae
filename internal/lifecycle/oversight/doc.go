// SPDX-License-Identifier: Apache-2.0

// Package oversight decides for the controller: given all that is known of one node,
// what is there to do that no agent of that node can do? It is pure. No client, no
// clock, no goroutine, no log.
//
//	Facts (a node's events, its Node, its agent, other nodes) ── Next(facts, now) ──▶ one Step, and when to ask again
//
//	Pending   no Node ─▶ noted, then Failed      no agent ─▶ noted      gate of ours ─▶ held, or removed
//	Claimed   no Node ─▶ Failed                  agent dead, or silent when the event is over ─▶ Stalled, then Succeeded, SlaExpired or Failed
//	terminal  agent dead, or overruled ─▶ mark the Node, unprotect, delete
//
// What was noted, and since when, is read from the event: after a crash at any point,
// Next gives the step that was not done, or one that may be done twice. Only since when
// an agent is lost is remembered ([Sighting]), because the clocks of nodes may be wrong:
// after a restart that time begins anew, unless it is noted already. How an event
// ends is package transition's. It never does what an agent that works would do,
// and in central mode leaves events of the controller to the agents of lifecycle/central.
package oversight
