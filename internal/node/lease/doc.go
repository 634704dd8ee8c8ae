// SPDX-License-Identifier: Apache-2.0

// Package lease decides about the lease of a node that Slipway works on (the lease proposal
// for disruptive work on nodes, kubernetes/enhancements PR 1411), so that of several tools one
// at a time works on a node.
//
//	LifecycleEvents, cordon and Lease of a node ── Next(facts, now) ──▶ one step, or when to look again
//
// All of Slipway is one holder. The lease is taken before the first event that takes the node
// out passes the gate slipway.dev/lease, and given back when the node has returned, or has
// failed and is not cordoned.
//
// It is pure: no client, no clock, no goroutine.
package lease
