// SPDX-License-Identifier: Apache-2.0

// Package health answers the two questions that a kubelet asks of a process.
//
//	liveness   would a restart cure it?     loop: a pass has gone on for minutes, and the API server answers
//	readiness  can it do its work now?      caches: filled; api-server: answers; and what the process adds
//
//	requests ──▶ reach ──┐
//	loops ─────▶ passes ─┼─▶ checks ─▶ /healthz, /readyz, metrics
//	manager ───▶ filled ─┘
//
// A process that begins in an outage waits for its end (Begin), and answers both probes meanwhile.
//
// It asks the API server nothing by itself: at rest a process makes no requests, and probes come
// every few seconds on every node. What it knows it sees on the requests of others. While
// the API server is away nothing is restarted: drains go on when it is back.
package health
