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
// or the node is tried again and returns. The gate is there if there are hooks BeforeDrain.
//
// Without a rollout, all selected nodes begin together, and each is done when the stage is
// Complete. With one, nodes begin as rollout lets them, and each is done after its work.
// When the stage becomes Complete, a drain that has not ended is canceled, which undoes its
// cordon; a node that is drained, returns.
//
// # What is decided here, and not elsewhere
//
//   - A record on a Node belongs to a maintenance by its UID. It goes when the maintenance is
//     gone, or is being deleted and the node is back: before the finalizer does.
//   - A node that has failed stays as it is: cordoned and held, if it was; its drain stops, if
//     it was not over. Raising spec.retry has it go on from there: through the hooks and the
//     work anew, but not through the drain, unless that is what has failed or is gone.
//   - Whoever deletes the event of a drain cancels it, which undoes the cordon, and the node
//     has failed. A return that fails is tried again when the maintenance becomes Complete, is
//     deleted, or its spec.retry is raised, before which the node goes all the way anew unless
//     it is Complete; else it is left, and told of.
//   - spec.paused does not hold stage Complete up. A Job that is running does, whatever is
//     asked: nobody puts a node back in the middle of a reboot. Deleting the Job ends that.
//   - With a rollout, each node goes its own way through the drain plan; without one, all are
//     in step, as KEP-4212 has it. A rollout does nothing in stage Cordon.
//   - Hooks before the return hold stage Complete up where there is no rollout, and nobody who
//     is deleted. Hooks before the drain are asked of the maintenance that begins a node; one
//     that joins later is asked only while others' hooks still hold the drain.
//   - A node without a rollout's maintenance returns without a look at its health: somebody
//     said Complete. With a rollout it is done with when it is healthy, or was cordoned before,
//     or when somebody accepts it as it is, by an annotation of the event of its return.
//   - Which pods hold up the nodes that are next, as they do not run (notready.go). Whose pods were
//     evicted, no object says: so it is the young ones that count.
//   - A cluster with a single node of the control plane has all of them selected when that is.
//   - A node that somebody else uncordons is cordoned again by its drain (cordon.go).
//   - In a rollout, a node that somebody else has leased begins when none of the others waits
//     any more. Nobody is taken out any more who has not been claimed when a maintenance is
//     paused, or its window ends: it waits again (waitagain.go).
//   - Of a node whose lease is lost, nothing is begun, and it is not put back, until Slipway has
//     the lease again (lease.go).
//   - A step that the API server refuses holds its node up, and is shown there (refused.go); a
//     guard holds a drain until spec.allow of a maintenance of its says that it may go (allow.go).
//   - Of nodes whose drains wait for each other, which deadlock finds, one gives way: it is
//     returned, and begins anew when the others' drains have ended (heldback.go). Without a
//     rollout it would not help, and people are told.
//
// It is pure: no client, no clock, no goroutine.
package maintenance
