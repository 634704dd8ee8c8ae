// SPDX-License-Identifier: Apache-2.0

// Package meter measures what a process uses, and the control plane and the machine under it.
//
//	/proc of the process, of the control plane, of the machine ─┐
//	/metrics of the API server ─────────────────────────────────┴─▶ Used ── Since ──▶ Used
//
// It reads the API server's metrics when it is called, and requests nothing else.
package meter
