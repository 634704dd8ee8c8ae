// SPDX-License-Identifier: Apache-2.0

// Package meter measures the use of resources by a process, and by the control plane and the machine under it.
//
//	/proc of the process, of the control plane, of the machine ─┐
//	/metrics of the API server ─────────────────────────────────┴─▶ Used ── Since ──▶ Used
//
// It reads the API server's metrics only when it is called.
package meter
