// SPDX-License-Identifier: Apache-2.0

// Package identity says as whom requests are made.
//
//	credentials ── who am I? ──▶ oneself: read events and transitions, write events
//	                        └──▶ the node: its pods, evictions, its Node, core Events
//	Preflight: what is an agent lacking, and how does it get it?
//
// A process on a node has one service account. What it does as itself is held by
// RBAC (and admission policies); what it does to the node and its pods it does as the
// node, by constrained impersonation of the node that its token names, so that the
// Node authorizer and NodeRestriction hold it to what the kubelet there may do.
// Events are written as oneself: impersonation drops the token's claim of the node.
// The controller is on no node: it does everything as itself.
package identity
