// SPDX-License-Identifier: Apache-2.0

// Package requester creates EvictionRequests (KEP-4563) for the pods that drains leave to responders, and
// withdraws them after the drain.
//
//	LifecycleEvents: status.leftToResponders (all, from the process's cache)
//	EvictionRequests of this package (by label)
//	        │ watch                                            ▲
//	        ▼                                                  │
//	queue by event ──▶ gather ──▶ Next ──▶ perform ──▶ API server
//
// Nodes may not create EvictionRequests: with that permission, they could delete all pods of a namespace, and no
// policy can limit them to a node. So the agent names pods, and this package creates requests only for pods that run
// on the event's node according to the API server. A compromised node can have only its own pods evicted.
//
// [Next] is pure. The package stores no files: each request names its event. It adds one watch to the watches of the
// process. It runs only in the leader among the controller's processes.
//
// It evicts no pod, and answers no request.
package requester
