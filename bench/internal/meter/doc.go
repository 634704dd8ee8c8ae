// SPDX-License-Identifier: Apache-2.0

// Package meter measures what goes on costs one process, and the control plane under it.
//
//	/proc of the process and of the control plane ─┐
//	/metrics of the API server ────────────────────┴─▶ Reading ── Since ──▶ Used
//
// It asks the API server for its metrics when it is told to, and for nothing else.
package meter
