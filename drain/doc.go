// SPDX-License-Identifier: Apache-2.0

// Package drain evicts pods without breaking a PodDisruptionBudget (PDB, here: budget): all pods of a node (Drain), or one
// pod wherever it is (EvictPod).
//
// It is a library: of Slipway, it imports its own watchstore only. It keeps nothing on disk and derives everything from the
// API each time it is called, so calling Drain again after a crash continues the drain.
//
//	watch: node, pods, budgets, rules     memory: tries, turns, reservations, brake
//	            │                                      │
//	            └───────────────┬──────────────────────┘
//	                          facts (one moment)
//	                            │
//	   scope ─▶ filter ─▶ order ─▶ pace ─▶ finish ─▶ summarise     pure: no client, no clock, no goroutine
//	   on this   must it   in      may it    is it      what to
//	   node?     leave?    steps   go now?   over?      report
//	                            │              │           │
//	                   evict (delete, kill)  confirm     report
//	                            │              │
//	                        API server ──▶ watch …             the ring closes only here
//
// The files, in the order of the data:
//
//	API of the package   drain.go (Config, Drain), request.go, rules.go, responder.go, static.go, status.go, preview.go, evictpod.go
//	watches              sources.go, budgets.go (the budgets of each pod), gather.go: facts.go
//	decisions            filter.go (scope, filter, order), pace.go, admit.go, leave.go (responders), static.go, finish.go,
//	                     summarise.go, shutdown.go
//	doing                engine.go (common to both loops), evict.go (requests and their answers), run.go (the loop of a Drain),
//	                     podloop.go (the loop of EvictPod), report.go
//	memory               memory.go (of a Drain), tries.go (of answers), queue.go (reservations of budgets), contention.go
//	prediction           rehearsal.go, forecast.go
//
// A watch event, an answer or a timer only wakes a loop; it carries no data. The loop gathers the facts, decides, acts,
// and waits again. It never polls: timers exist only for back-off after an error, for the time that a pod, a volume or a step
// of an Escalation has, for the end of a grace period, and as a safety net behind a watch.
//
// Pods leave in steps: first in the order of their Rules, then DaemonSet pods after others, lower priorities before
// higher ones; the pods of Config.OwnNamespace leave last. A step waits until the step before it is empty, or its time is over.
// Before the machine stops (Config.Shutdown), a step begins early enough for the grace periods of its pods and of all later
// pods, and DaemonSet pods also wait for the volumes of the other pods.
//
// The drain sends an eviction when the server would accept it (admit.go mirrors the server's own rule), at most one at a time
// for each budget, even for pods on different nodes; budgets do not wait for each other. Every request names the pod's UID.
// Processes that evict under the same budget leave it to the process of the latest eviction (contention.go).
//
// Pods with their own responders (KEP-4563) are left to these: the drain names the pods (Status.Named), a controller requests
// their evictions, and while a responder works on a pod, the drain does not evict it.
//
// Static pods leave only if a Target names them, and when no other pod in scope is left. No eviction moves them: the drain
// reports that their removal is due (Status.Static), a process on the machine removes their manifests, and the kubelet then
// removes the pods from the API.
//
// A node is drained when it is unschedulable, carries the taint node.kubernetes.io/unschedulable:NoSchedule, when the
// volumes of the pods that left are detached, and when after that one consistent LIST shows no pod in scope, pods that are
// still terminating included. Evictions begin as soon as spec.unschedulable is true: the scheduler honours that field by
// itself. The taint is required before the last LIST, because it shows that the control plane has noticed the cordon. One
// gap is left that no client can close: a pod whose binding the scheduler began before the cordon may be bound after the
// LIST.
//
// Pods that tolerate everything return to the node. After their third return the drain leaves them there, and lists them in
// Status.Left.
//
// A restart loses the times that pods have had: PodTimeout, Rule.Deadline and Escalation.DeleteAfter begin again.
// Escalation.KillAfter does not: the terminating pod itself has the time of its deletion.
//
// All calls of EvictPod for pods of a namespace share one loop: the loop of a Drain without a node, steps, and an end.
//
// Preview predicts a Drain without a client: the code of Drain decides about a copy of the facts.
//
// The package must not cordon or uncordon, touch mirror pods, touch DaemonSet pods unless a Target names them, delete a
// pod or override a budget unless an Escalation requests it, evict from a node that is not cordoned (except by EvictPod), or
// send a request after its context has ended.
package drain
