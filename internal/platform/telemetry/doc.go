// SPDX-License-Identifier: Apache-2.0

// Package telemetry reports to administrators and to monitoring: core Events on Nodes, LifecycleEvents and
// NodeMaintenances, and metrics.
//
//	Source (one for each process) ── Node ──▶ Observer (one for each node)
//	a status ── after the write succeeded ──▶ Observer.Wrote ──▶ notices ──▶ core Events
//	all events of the node, in each pass  ──▶ Observer.Look ──▶ notices about long blocks ──▶ core Events
//
// Pure functions decide about core Events (notice.go). The content of a core Event determines its name, so that no
// process repeats one, not even after a restart.
//
// table.go lists all metrics and registers them. nodes.go has the gauges of nodes at work and of events without an
// agent, maintenances.go the gauges of NodeMaintenances, counters.go everything else.
//
// It is output only: no decision depends on it, and its failures stop no step.
package telemetry
