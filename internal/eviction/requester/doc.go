// SPDX-License-Identifier: Apache-2.0

// Package requester creates EvictionRequests (KEP-4563) for the pods that drains leave to responders, and
// withdraws them when a drain is over.
//
//	LifecycleEvents: status.leftToResponders (all, from the process's cache)
//	EvictionRequests of its own (by label)
//	        │ watch                                            ▲
//	        ▼                                                  │
//	queue by event ──▶ gather ──▶ Next ──▶ perform ──▶ API server
//
// Nodes may not create EvictionRequests: who may create them can delete all pods of a namespace, and no policy
// can limit them to a node. So the agent names pods, and this package creates requests only for those that run on
// the event's node according to the API server. A compromised node can have only its own pods evicted.
//
// [Next] is pure. Nothing is stored on disk: each request carries its event. The package adds one watch to those
// of the process. It runs only in the leader among the controller's processes.
//
// It evicts nothing, and answers no request.
package requester
