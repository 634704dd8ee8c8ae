// SPDX-License-Identifier: Apache-2.0

// Package maintenance decides for the maintenance of many nodes (KEP-4212): what is the
// next thing to do, for all maintenances and all nodes of the cluster?
//
//	NodeMaintenances, Nodes, LifecycleEvents, Jobs ── Next(facts, now) ──▶ steps, statuses, when to ask again
//
// # The way of a node
//
// What has been done is read from objects, never from memory:
//
//	nothing ─ begin ─▶ drain event, with our finalizer and our gate      [hooks BeforeDrain]
//	  ─ gate removed ─▶ claimed, draining; its targets rise by drainplan ─▶ reached, held
//	  [hooks AfterDrain] ─▶ Job, or somebody says that the work is done  [hooks BeforeReturn]
//	  ─ record Done on the Node ─▶ hold is false ─▶ Succeeded ─▶ return event, drain event let go
//	  ─▶ Succeeded, and the node is healthy ─▶ record Returned on the Node, return event let go
//
// There is one drain event for a node, whichever maintenances it is for: it lists them. The
// node returns when each of them is done with it. What fails, or is canceled by somebody
// else, is a record Failed on the Node; the cordon stays until the maintenance is Complete,
// or the node is tried again and returns.
//
// Without a rollout, all selected nodes begin together, and each is done when the stage is
// Complete. With one, nodes begin as rollout lets them, and each is done after its work.
// When the stage becomes Complete, a drain that has not ended is canceled, which undoes its
// cordon; a node that is drained, returns.
//
// A record on a Node belongs to a maintenance by its UID, and is dropped when that is gone.
//
// It is pure: no client, no clock, no goroutine.
package maintenance
