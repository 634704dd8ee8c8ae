// SPDX-License-Identifier: Apache-2.0

// Package responderkit makes a responder of Kubernetes' Eviction API (KEP-4563,
// lifecycle.k8s.io/v1alpha1) out of a function: it watches for the Evictions in which it
// is the responder's turn, runs the function for each, says in the Eviction that it is
// alive and how far it is, and says when it is done.
//
//	Evictions with label <name>: responder ──watch──▶ table: whose turn is it?
//	                                                    │ one run for an Eviction
//	                                                    ▼
//	                           RunFunc ──report──▶ pace: what to write, and when
//	                              ▲ cancel              │ server-side apply
//	                              └─ state ◀── status.responders[own name] of the Eviction
//
// A pod names its responders in spec.evictionResponders. Whoever wants the pod gone
// creates an EvictionRequest; the evictionrequest-controller makes an Eviction of it, in
// which it lets one responder after the other be Active. A responder that is done, or has
// failed, completes, and the next one has its turn. The last one of all evicts the pod.
//
// The kit writes its own entry of status.responders and nothing else. It writes by
// server-side apply with a field manager of the responder's own, and only on top of what
// it has seen: if anybody wrote the Eviction meanwhile, it reads it again and decides
// again. So it overwrites nobody, and says nothing after its turn is over.
//
// The process needs these rights: get, list and watch evictions, patch evictions/status
// (all in lifecycle.k8s.io), and get pods for [Eviction].ReadPod.
//
// Two processes of one responder do not know of each other, and both would run for one
// Eviction. Leader election is the caller's affair: one replica, with the deployment
// strategy Recreate, does without.
//
// The kit decides nothing about pods: it evicts none, and creates no Evictions.
package responderkit
