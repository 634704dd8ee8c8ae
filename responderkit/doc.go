// SPDX-License-Identifier: Apache-2.0

// Package responderkit implements a responder of Kubernetes' Eviction API (KEP-4563,
// lifecycle.k8s.io/v1alpha1) around a function: it watches for Evictions in which the
// responder is active, runs the function for each of them, and reports heartbeats, progress
// and completion in the Eviction.
//
//	Evictions with label <name>: responder ──watch──▶ table: is the responder active?
//	                                                    │ one run for an Eviction
//	                                                    ▼
//	                           RunFunc ──report──▶ pace: next write, and its time
//	                              ▲ cancel              │ server-side apply
//	                              └─ state ◀── status.responders[own name] of the Eviction
//
// A pod names its responders in spec.evictionResponders. A requester creates an
// EvictionRequest for the pod. The evictionrequest-controller then creates an Eviction, in
// which it activates one responder after the other. A responder completes after success and
// after failure, and the next responder becomes active. The last responder evicts the pod.
//
// The kit writes only its own entry of status.responders. It uses server-side apply with the
// responder's own field manager, and only on the version that it has seen: if another client
// has written the Eviction since, it reads the Eviction and decides again. So it overwrites no
// other client, and writes nothing after the responder's activation has ended.
//
// The process needs these permissions: get, list and watch evictions, patch evictions/status
// (all in lifecycle.k8s.io), and get pods for [Eviction].ReadPod.
//
// Two processes of one responder do not coordinate, and both would run for one Eviction. The
// caller is responsible for leader election; one replica with the deployment strategy
// Recreate does not need it.
//
// The kit makes no decision about pods: it evicts none, and creates no Evictions.
package responderkit
