// SPDX-License-Identifier: Apache-2.0

// Package drain empties a Kubernetes node of its pods without breaking a disruption budget.
//
// It is a library: it imports no other package of Slipway, keeps nothing on disk, and derives everything from the API
// each time it is called, so that calling Drain again after a crash simply continues.
//
//	watch: node, pods, budgets            what we did: tries, slots, brake
//	            │                                      │
//	            └───────────────┬──────────────────────┘
//	                          facts (one moment)
//	                            │
//	   scope ─▶ filter ─▶ order ─▶ pace ─▶ summarise          pure: no client, no clock, no goroutine
//	   on this   must it   who      may it    what to
//	   node?     leave?    first?   go now?   tell people
//	                            │                │
//	                          evict            report
//	                            │
//	                        API server ──▶ watch …             the ring closes only here
//
// A watch event, an answer or a timer only wakes the loop in run.go; it carries no meaning. The loop gathers the facts,
// decides, performs, and waits again. There is no poll and no sleep: timers exist only for back-off after an error, for
// the end of a grace period, and as a safety net behind a watch.
//
// An eviction is sent when the server would accept it (admit.go mirrors the server's own rule), at most one at a time
// for each budget, whichever node the pod is on; budgets do not wait for each other. Every eviction names the pod's UID.
//
// A node is drained when it is unschedulable, carries the taint node.kubernetes.io/unschedulable:NoSchedule, and after
// that one consistent LIST shows no pod in scope, pods that are still terminating included. Evictions begin as soon as
// spec.unschedulable is true: the scheduler honours that field by itself; the taint is asked for before the last LIST,
// because it shows that the control plane has noticed the cordon. One gap is left that no client can close: a pod whose
// binding the scheduler began before the cordon may be bound after the LIST.
//
// What it must not do: cordon or uncordon, touch DaemonSet or mirror pods, delete a pod, override a budget, evict from a
// node that is not cordoned, or send anything after its context has ended.
package drain
