// SPDX-License-Identifier: Apache-2.0

// Package drain empties a Kubernetes node of its pods without breaking a disruption budget.
//
// It is a library: of Slipway, it imports its own watchstore only. It keeps nothing on disk, and derives everything from the API
// each time it is called, so that calling Drain again after a crash simply continues.
//
//	watch: node, pods, budgets, rules     what we did: tries, slots, turns, brake
//	            │                                      │
//	            └───────────────┬──────────────────────┘
//	                          facts (one moment)
//	                            │
//	   scope ─▶ filter ─▶ order ─▶ pace ─▶ finish ─▶ summarise     pure: no client, no clock, no goroutine
//	   on this   must it   in      may it    is it      what to
//	   node?     leave?    steps   go now?   over?      tell people
//	                            │              │           │
//	                   evict (delete, kill)  look        report
//	                            │              │
//	                        API server ──▶ watch …             the ring closes only here
//
// A watch event, an answer or a timer only wakes the loop in run.go; it carries no meaning. The loop gathers the facts,
// decides (decide.go), performs, and waits again. There is no poll and no sleep: timers exist only for back-off after an
// error, for the time that a pod, a volume or a step of an Escalation has, for the end of a grace period, and as a safety
// net behind a watch.
//
// Pods leave in steps: first what a Rule orders first, DaemonSet pods after others, lower priorities before higher ones,
// the pods of those who drain last. A step waits until the one before is gone, or has had its time.
//
// An eviction is sent when the server would accept it (admit.go mirrors the server's own rule), at most one at a time
// for each budget, whichever node the pod is on; budgets do not wait for each other. Every request names the pod's UID.
// Processes that evict under the same budget leave it to the one that was there last (contention.go).
//
// Pods with responders of their own (KEP-4563) are left to them (leave.go): the drain names them, somebody else asks for
// their evictions, and while a responder is at work on a pod, it is not sent away here.
//
// Static pods leave only if a Target names them, and when no other pod in scope is left (static.go). They are not evicted:
// the drain says that it is their turn, somebody on the machine takes their manifests away, and the kubelet then takes the
// pods off the API.
//
// A node is drained when it is unschedulable, carries the taint node.kubernetes.io/unschedulable:NoSchedule, when the
// volumes of the pods that left are detached, and after that one consistent LIST shows no pod in scope, pods that are
// still terminating included. Evictions begin as soon as spec.unschedulable is true: the scheduler honours that field by
// itself; the taint is asked for before the last LIST, because it shows that the control plane has noticed the cordon. One
// gap is left that no client can close: a pod whose binding the scheduler began before the cordon may be bound after the
// LIST.
//
// Pods that tolerate everything come back to the node. After their third return they are left there, and the drain ends
// saying so.
//
// A restart forgets how long pods have been waited for: the times of PodTimeout, Rule.Deadline and
// Escalation.DeleteAfter begin anew. Escalation.KillAfter does not: the pod itself says since when it is ending.
//
// EvictPod evicts one pod, whichever node it is on, by the same rule for budgets. All calls for pods of a namespace share one
// loop (podloop.go), which is that of a Drain without a node, steps, and an end.
//
// Preview says what Drain would do, without a client: rehearsal.go lets the same code decide about a copy of the facts.
//
// What it must not do: cordon or uncordon, touch mirror pods, touch DaemonSet pods unless a Target names them, delete a
// pod or override a budget unless an Escalation asks for it, evict from a node that is not cordoned (but for EvictPod), or
// send anything after its context has ended.
package drain
