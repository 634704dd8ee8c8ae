// SPDX-License-Identifier: Apache-2.0

// Package identity finds the user of each request.
//
//	credentials ── SelfSubjectReview ──▶ the process: reads events and transitions, writes events
//	                             └─────▶ the node: its pods, evictions, its Node, core Events
//	Preflight: the missing permissions of an agent, and the remedy
//
// A process on a node has one service account. RBAC (and admission policies) limit its own requests. Requests about
// the node and its pods are made as the node, by constrained impersonation of the node that the token names, so that
// the Node authorizer and NodeRestriction limit them to the permissions of the kubelet there. The process writes
// events as itself: impersonation drops the token's claim of the node. The controller runs on no particular node, and
// makes all requests as itself.
package identity
