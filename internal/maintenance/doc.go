// SPDX-License-Identifier: Apache-2.0

// Package maintenance decides for the maintenance of many nodes (KEP-4212): what is the next
// thing to do, for all maintenances and all nodes of the cluster? It is pure: no client, no
// clock, no goroutine.
//
//	Facts ─▶ view ─▶ selection ─▶ plan ─▶ outcome of each node ─▶ report on each maintenance ─▶ Decision
//
//	view       facts.go, view.go, event.go: the facts, indexed; what Nodes and events say
//	selection  selection.go, notready.go, lease.go: which nodes begin for which maintenance, by
//	           rollout; claim.go: which maintenances still need the nodes that are out
//	plan       targets.go, keptaway.go: how far each drain goes, by drainplan;
//	           deadlock.go: which drains wait for each other, by deadlock, and which gives way
//	outcome    the state machine of a node, one phase a file: node.go (which phase), waiting.go,
//	           draining.go, work.go and job.go, returning.go; it gives steps, records and statuses
//	report     status.go, conditions.go: the status of a maintenance; marks.go: the conditions of
//	           a Node
//
// Each stage is a type that embeds the one before, so a stage cannot use a later one. No stage
// changes an earlier one, and no step refers to another. They are one package, and not one each:
// they share the view, whose types and some forty queries would have to be exported for nobody
// else. Packages of their own are
//
//	controller  gathers the facts, performs the steps
//	rollout     which nodes of a maintenance begin next
//	drainplan   how far the drain of each node goes
//	deadlock    which drains wait for each other
//	sharedpdbs  which nodes have pods of the same PodDisruptionBudgets
//
// # The phases of a node
//
// What has been done is read from objects, never from memory:
//
//	waiting ─ begins ─▶ drain event, with our finalizer and our gate      [hooks BeforeDrain]
//	  ─ gate removed ─▶ claimed, draining; its targets rise by drainplan ─▶ reached, held
//	  [hooks AfterDrain] ─▶ Job, or somebody says that the work is done  [hooks BeforeReturn]
//	  ─ record Done on the Node ─▶ hold is false ─▶ Succeeded ─▶ return event, drain event released
//	  ─▶ Succeeded, and the node is healthy ─▶ record Returned on the Node, return event released
//
// A node has one drain event, which lists the maintenances that it is for. The node returns when
// each of them is done with it. A failure, or a cancellation by a third party, is a record Failed
// on the Node; the cordon stays until the maintenance is Complete, or the node is tried again and
// returns. The event has our gate only if there are hooks BeforeDrain.
//
// Without a rollout, all selected nodes begin together, and each is done when the stage is
// Complete. With one, nodes begin as rollout lets them, and each is done after its work. When the
// stage becomes Complete, a drain that has not ended is canceled, which undoes its cordon; a node
// that is drained returns.
//
// # Rules
//
//   - A record on a Node belongs to a maintenance by its UID. It is removed when the maintenance
//     is gone, or is being deleted and the node is back: before the finalizer is.
//   - A node that has failed stays as it is: cordoned and held, if it was; its drain stops, if it
//     was not over. Raising spec.retry lets it continue from there: through the hooks and the work
//     anew, but not through the drain, unless that has failed or is gone.
//   - Deleting the event of a drain cancels it, which undoes the cordon, and the node has failed.
//     A return that fails is tried again when the maintenance becomes Complete, is deleted, or its
//     spec.retry is raised; in the last case the node goes all the way anew first, unless the
//     maintenance is Complete. Otherwise the node is left, and its status says so.
//   - spec.paused does not hold up stage Complete. A running Job does, whatever is asked for:
//     nobody returns a node in the middle of a reboot. Deleting the Job ends that.
//   - With a rollout, each node goes its own way through the drain plan; without one, all are in
//     step, as KEP-4212 has it. A rollout does nothing in stage Cordon.
//   - Hooks BeforeReturn hold up stage Complete of a maintenance without a rollout, but not its
//     deletion. Hooks BeforeDrain of the maintenance that begins a node are asked; those of one
//     that joins later only while other hooks still hold the drain.
//   - A node returns without a look at its health if no rollout has it out: somebody said
//     Complete. With a rollout it is done with when it is healthy, or was cordoned before, or when
//     somebody accepts it as it is, by an annotation of the event of its return.
//   - Pods that are not ready hold up the nodes that are next (notready.go). No object says which
//     pods are replacements of evicted ones, so the young ones count.
//   - In a cluster with a single node of the control plane, selecting it selects all of them.
//   - A node that a third party uncordons is cordoned again by its drain (draining.go).
//   - In a rollout, a node that another tool has leased begins when no other node waits any more.
//     When a maintenance is paused, or its window closes, nodes whose drain is not claimed yet
//     wait for their turn again (claim.go).
//   - While the lease of a node is lost, nothing is begun on it, and it does not return (lease.go).
//   - A step that the API server refuses holds its node up, and is shown there (node.go). A guard
//     holds a drain until spec.allow of one of its maintenances lets it pass (waiting.go).
//   - Of nodes whose drains wait for each other, one gives way: it returns, and begins again when
//     the others' drains have ended (deadlock.go). Without a rollout that would not help, and the
//     status says what does.
package maintenance
