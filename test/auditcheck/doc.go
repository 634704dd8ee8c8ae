// SPDX-License-Identifier: Apache-2.0

// Package auditcheck reads an API server's audit log and reports whether Slipway
// kept its invariants.
//
//	audit log (Policy says what must be in it) ── Check ──▶ violations, one line each
//
//	budgets     no eviction of ours was accepted while a budget refused
//	deletions   no pod was deleted but by an escalation that an event asks for, in its time
//	scope       evicted was by UID, from a node that was being drained, and what the drain's
//	            targets cover and no rule of the namespace skips; or what an Eviction asks for
//	claims      one claim per node at a time, in the order of phases, each event ended once; an event
//	            of a third-party claimer is only written by that claimer
//	evictions   what we write of Evictions and EvictionRequests the server takes in, each
//	            changes something, and one Eviction of a pod runs at a time
//	leases      no node is cordoned, emptied or worked on, and no lease written, that somebody
//	            else has leased; of all holders, one works on a node at a time
//	rollouts    no more nodes of a maintenance are out than it allows, and no second one of
//	            the control plane; none begins while it may not; work is done once, to empty nodes
//	holds       no node is worked on or returned that another user holds; no more nodes are cordoned
//	            at a time than the NodeAvailabilityBudgets allow
//	traces      no finalizer, cordon, annotation or taint of ours is left at the end
//
// It replays what was written, in the order in which the server answered, and shares
// no code with the product: names and rules stand here again, as the documents have
// them.
package auditcheck
