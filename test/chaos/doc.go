// SPDX-License-Identifier: Apache-2.0

// Package chaos injects faults around Slipway's real processes, and checks their work by the audit log.
//
//	seed ── plan.New ──▶ rounds ─┬─ jobs ─────▶ LifecycleEvents, EvictionRequests, NodeMaintenances
//	                            │                                         │ each has to end well
//	                            └─ faults ◀── count: what a watch has shown
//	                                 │ SIGKILL, SIGSTOP, etcd, API server, clock
//	                                 ▼
//	agents, controllers ── link: cuts, hangs, 410, lost answers ──▶ API server ── audit log ──▶ auditcheck
//
// A process that ends is started again, as a kubelet does. At the end of each mode, the test compares old processes
// with new ones: have they more goroutines?
//
// make test runs it with the same seed each time, make chaos with a fresh one, which it prints first; SLIPWAY_CHAOS_SEED
// and SLIPWAY_CHAOS_DRAINS make a run again. It must know only the command lines and the writes of the processes.
package chaos
