// SPDX-License-Identifier: Apache-2.0

// Package chaos has Slipway's real processes work while all around them goes wrong, and the
// audit log judge what they have done.
//
//	seed ── plan.Of ──▶ rounds ─┬─ jobs ─────▶ LifecycleEvents, EvictionRequests, NodeMaintenances
//	                            │                                         │ each has to end well
//	                            └─ faults ◀── count: what a watch has shown
//	                                 │ SIGKILL, SIGSTOP, etcd, API server, clock
//	                                 ▼
//	agents, controllers ── link: cuts, hangs, 410, lost answers ──▶ API server ── audit log ──▶ auditcheck
//
// A process that ends is started again, as a kubelet does. At the end of each mode, those that
// have lived long are compared with such as were just started: have they more goroutines?
//
// It runs with a fresh seed, which it prints first; SLIPWAY_CHAOS_SEED and
// SLIPWAY_CHAOS_DRAINS make a run again. It must not know more of the processes than what they
// are told on their command lines and what they write.
package chaos
