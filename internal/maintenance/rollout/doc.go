// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which nodes of a maintenance begin next.
//
//	spec.rollout, the selected nodes, the control plane, pods that are not ready ── Next ──▶ nodes that begin, or a reason
//
// It is pure: no client, no clock, no goroutine. It does not drain nodes.
package rollout
