// SPDX-License-Identifier: Apache-2.0

// Package attack tests on a real control plane what a stolen token is good for.
//
//	attempt: as whom ── try ──▶ API server ──▶ refused, and by which guard?
//	         by whom else ─ the same ───────▶ accepted
//
// The tokens are those that a DaemonSet's pods would have, bound to a pod on node A; what
// they try to get at is mostly node B's. That the same attempt succeeds for somebody who
// may tells a refusal from a mistake in the attempt. Requests that write are dry runs:
// they pass through all guards, and change nothing.
package attack
