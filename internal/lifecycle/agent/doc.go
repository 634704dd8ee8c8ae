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
// Each node runs an agent; for central drivers, the controller has an agent for each node with
// events. The agent derives each step from current facts, so the end of the process loses no
// state. Watches and drivers only start a pass of the loop. The agent decides nothing itself.
//
// lag.go makes the agent wait for its watches to show its own writes, and read from the API
// server when they are late.
package agent
