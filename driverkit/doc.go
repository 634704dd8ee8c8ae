// SPDX-License-Identifier: Apache-2.0

// Package driverkit makes a lifecycle driver out of a Go type: it registers the
// driver with the agent of its node, serves the calls, and publishes the driver's
// transitions.
//
//	Config ──▶ Serve ─┬─ registration socket ◀── agent: who are you?
//	                  ├─ driver socket ◀──────── agent: Start, End
//	                  │       └─ Call ──▶ Driver ──▶ Answer
//	                  └─ Transitions ──▶ API server, if they are absent
//
// A driver whose work takes longer than a call hands a function to [Background]; a
// driver with several transitions puts one Driver for each into [ByTransition].
//
// The same driver works under any caller of the SLM contract, Slipway's agent or
// another: what the contract of KEP-5683 has is required of the caller, Slipway's
// additions are used if the caller sends them.
//
// The kit decides nothing about nodes: it does not cordon, does not write Nodes or
// LifecycleEvents, and does not retry a transition that has failed.
package driverkit
