// SPDX-License-Identifier: Apache-2.0

// Package maintenance decides the next steps of all NodeMaintenances (KEP-4212) on all nodes of the cluster. It
// is pure: no client, no clock, no goroutine.
//
//	Facts ─▶ view ─▶ selection ─▶ plan ─▶ outcome of each node ─▶ report on each maintenance ─▶ Decision
//
//	Facts      facts.go: the facts, and the Decision with its steps; next.go: the entry points
//	view       view.go, event.go: the facts, indexed; queries on Nodes and events
//	selection  selection.go, notready.go: the nodes that begin for each maintenance, by package rollout;
//	           claim.go: the claims of maintenances on the nodes out of service; leases
//	plan       targets.go: the targets of each drain, by package drainplan; deadlock.go: drains that wait
//	           for each other, by package deadlock, and the node that gives way
//	outcome    the state machine of a node, one phase a file: node.go (dispatch), waiting.go, draining.go,
//	           job.go, returning.go; it returns steps, records and statuses
//	report     status.go, conditions.go: the status of a maintenance; marks.go: conditions, label and
//	           annotation of a Node
//
// Each stage is a type that embeds the one before, so a stage cannot use a later one. A stage does not change
// an earlier one, and a step does not refer to another. They share one package because they share the view,
// whose types and queries only they need. Separate packages are
//
//	controller  gathers the facts, performs the steps
//	rollout     decides which nodes of a maintenance begin next
//	drainplan   decides the targets of each drain
//	deadlock    finds drains that wait for each other
//	sharedpdbs  finds nodes whose pods share PodDisruptionBudgets
//
// # The phases of a node
//
// The package reads its earlier actions from objects, never from memory:
//
//	waiting ─ begins ─▶ drain event, with our finalizer and our gate      [hooks BeforeDrain]
//	  ─ gate removed ─▶ claimed, draining; its targets rise by drainplan ─▶ reached, held
//	  [hooks AfterDrain] ─▶ Job, or an administrator declares the work done  [hooks BeforeReturn]
//	  ─ record Done on the Node ─▶ hold is false ─▶ Succeeded ─▶ return event, drain event released
//	  ─▶ Succeeded, and the node is healthy ─▶ record Returned on the Node, return event released
//
// A node has one drain event, which lists its maintenances. The node returns when each of them has completed its
// part. A failure, or a cancellation by a third party, is a record Failed on the Node; the cordon stays until the
// maintenance is Complete, or until a retry lets the node return. The event has our gate only with hooks BeforeDrain.
//
// Without a rollout, all selected nodes begin together, and complete with stage Complete. With a rollout, nodes begin
// as package rollout decides, and each completes after its work. When the stage becomes Complete, this controller
// cancels the drains that have not ended, which uncordons their nodes; a drained node returns.
//
// # Rules
//
//   - A record on a Node belongs to a maintenance by its UID. The controller removes it after the deletion of the
//     maintenance, or before the finalizer if the node has returned.
//   - A failed node keeps its state: cordoned and held, if it was; its drain stops, if it had not ended. After a
//     raise of spec.retry, it continues from there: it repeats the hooks and the work, and the drain if that has
//     failed or was deleted.
//   - The deletion of a drain event cancels the drain, which uncordons the node, and the node has failed. A failed
//     return is repeated when the maintenance becomes Complete, is deleted, or gets a higher spec.retry; in the
//     last case the node first repeats its whole course, unless the maintenance is Complete. Otherwise the node
//     stays, and its status reports the failure.
//   - spec.paused does not delay stage Complete. A running Job always does: a node must not return in the middle
//     of a reboot. The deletion of the Job ends that.
//   - With a rollout, each node has its own drain plan; otherwise all nodes proceed in step (KEP-4212). A
//     rollout does not begin in stage Cordon.
//   - Hooks BeforeReturn delay stage Complete of a maintenance without a rollout, but not its deletion. The hooks
//     BeforeDrain of the first maintenance of a node always count; the hooks of a maintenance that joins later
//     count only while other hooks still hold the drain.
//   - Without a rollout, a node returns in any health: an administrator has set stage Complete. With a rollout, its
//     return ends when it is healthy, was cordoned before, or when an administrator accepts it as unhealthy by an
//     annotation of its return event.
//   - Pods that are not ready hold the next nodes (notready.go). Objects do not show which pods replace evicted
//     ones, so the young pods count.
//   - In a cluster with a single node of the control plane, its selection selects the whole control plane.
//   - After a third party has uncordoned a node, its drain cordons it again (draining.go).
//   - In a rollout, a node that another tool has leased begins after all other waiting nodes. If a maintenance is
//     paused, or its window closes, nodes with an unclaimed drain wait again (claim.go).
//   - While Slipway has lost the lease of a node, no action begins on it, and it does not return (claim.go).
//   - A step that the API server refuses holds its node, and the status shows it (node.go). A guard holds a drain
//     until spec.allow of one of its maintenances lets it pass (waiting.go).
//   - If drains wait for each other, one of their nodes gives way: it returns, and begins again when the other
//     drains have ended (deadlock.go). Without a rollout that would have no effect, and the status has the remedy.
package maintenance
