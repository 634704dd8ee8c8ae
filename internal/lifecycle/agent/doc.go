// SPDX-License-Identifier: Apache-2.0

// Package agent is the kubelet's part of Specialized Lifecycle Management: the loop
// that turns LifecycleEvents of a node into calls to its drivers.
//
//	watches (events, transitions, Node) ─┐
//	plugins (drivers) ───────────────────┼─▶ gather ─▶ transition.Next ─▶ perform one step
//	dispatch (calls, answers) ───────────┘                                    │
//	        ▲                                                                 │
//	        └── API server ◀── record, node/state, telemetry ◀───────────────┤
//	        └── driver     ◀── dispatch ◀─────────────────────────────────────┘
//
// One runs on each node; in central mode, the controller has one for each node with
// events. One step at a time, each derived from facts anew: nothing is lost with the process.
// Watches and drivers wake the loop; they carry nothing into it. It decides nothing.
//
// lag.go makes the agent wait for its watches to show its own writes, and read from the API
// server when they are late.
package agent
