// SPDX-License-Identifier: Apache-2.0

// Package request decides what becomes of EvictionRequests (KEP-4563): one
// Eviction for each target, one responder after the other, and what the requesters are
// told.
//
//	target pod, its EvictionRequests, its Evictions ── Next ──▶ one step, or when to look again
//
// It is the evictionrequest-controller's mind, by the types that Kubernetes 1.37 ships
// (k8s.io/api/lifecycle/v1alpha1), which win where the KEP's text differs. What the
// server's validation of these types refuses, it never asks for: the order of the
// responders, and each change of their states, are those of the server.
//
// It is pure: no client, no clock, no goroutine. A crash after any step leads to the
// same end.
package request
