// SPDX-License-Identifier: Apache-2.0

// Package lease decides about the lease of a node that Slipway works on (the lease proposal for disruptive work on
// nodes, kubernetes/enhancements PR 1411). The lease serializes tools that work on the same node.
//
//	LifecycleEvents, cordon and Lease of a node ── Next(facts, now) ──▶ one step, or the time of the next decision
//
// Slipway is one holder for all its events. It acquires the lease before the first event that takes the node out of
// service passes the gate slipway.dev/lease, and releases it when the node has returned, or when the event has failed
// and the node is not cordoned.
//
// It is pure: no client, no clock, no goroutine.
package lease
