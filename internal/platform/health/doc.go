// SPDX-License-Identifier: Apache-2.0

// Package health answers the two probes of a kubelet.
//
//	liveness   would a restart help?        loop: a pass has run for minutes, although the API server answers
//	readiness  can the process work now?    caches: filled; api-server: answers; further checks of the process
//
//	requests ──▶ reach ────────┐
//	loops ─────▶ Process.Pass ─┼─▶ checks ─▶ /healthz, /readyz, metrics
//	manager ───▶ filled ───────┘
//
// A process that starts during an outage waits for its end (Begin), and answers both probes meanwhile.
//
// It sends no requests: an idle process makes none, and probes arrive every few seconds on every
// node. It learns from the requests of the process. An unavailable API server causes no restart: drains continue after
// the outage.
package health
