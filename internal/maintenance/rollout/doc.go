// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which nodes of a maintenance may be taken out next.
//
//	spec.rollout, the selected nodes, what holds everybody up ── Next ──▶ who begins, or why nobody does
//
// It is pure: no client, no clock, no goroutine. It does not know how a node is taken out.
package rollout
