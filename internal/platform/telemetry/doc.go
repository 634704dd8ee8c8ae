// SPDX-License-Identifier: Apache-2.0

// Package telemetry tells people and monitoring what has happened: core Events on the
// Node and on the LifecycleEvent, and metrics.
//
//	Source (one a process) ── Node ──▶ Observer (one a node)
//	what was written ── after the write succeeded ──▶ Observer.Wrote ──▶ notices ──▶ core Events
//	what stands, each pass of the loop ──▶ Observer.Look ──▶ what has stood for long ──▶ core Events
//
// What to tell is decided by pure functions (notice.go). A core Event is named after what
// it tells, so that nothing is told twice, not even by a process that has begun anew.
//
// notice.go decides about core Events; standings.go, overseen.go, undertaken.go and stuck.go have
// the gauges of nodes in work, of events without an agent, of maintenances, and of work that does
// not move on; drains.go, calls.go, health.go and host.go have counters.
//
// It is output only: nothing is decided by it, and its failures stop nothing.
package telemetry
