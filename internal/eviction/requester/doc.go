// SPDX-License-Identifier: Apache-2.0

// Package requester asks for the evictions of the pods that drains leave to responders
// (KEP-4563), and takes the requests back when a drain is over.
//
//	LifecycleEvents: status.leftToResponders (all, from the process's cache)
//	EvictionRequests of its own (by label)
//	        │ watch                                            ▲
//	        ▼                                                  │
//	queue by event ──▶ gather ──▶ Next ──▶ perform ──▶ API server
//
// No node may create EvictionRequests: they are the power to delete the pods of a
// namespace, and no policy can bind one to a node. So the agent names pods, and this
// package asks for those alone that are on the event's node by what the API server says
// of them. A node that lies gets nobody's pods evicted but its own.
//
// Deciding is pure: [Next]. Nothing is kept on disk; which event a request is for is
// written on it. It has one watch more than the process has anyway. It runs in the leader
// among the controller's processes only.
//
// It evicts nothing, and answers no request.
package requester
