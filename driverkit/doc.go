// SPDX-License-Identifier: Apache-2.0

// Package driverkit implements a lifecycle driver around a Go type: it registers the
// driver with the agent of its node, serves the calls, and publishes the driver's
// transitions.
//
//	Config ──▶ Serve ─┬─ registration socket ◀── agent: GetInfo
//	                  ├─ driver socket ◀──────── agent: Start, End
//	                  │       └─ Call ──▶ Driver ──▶ Answer
//	                  └─ Transitions ──▶ API server, if they are absent
//
// A driver whose work takes longer than a call passes a function to [Background]; a driver
// with several transitions combines one Driver for each with [ByTransition].
//
// The same driver works with any caller of the SLM contract, Slipway's agent or another one:
// it requires from the caller only the contract of KEP-5683, and uses Slipway's additions if
// the caller sends them.
//
// The kit makes no decision about nodes: it does not cordon, does not write Nodes or
// LifecycleEvents, and does not retry a failed transition.
package driverkit
