// SPDX-License-Identifier: Apache-2.0

// Package observe tells people and monitoring what has happened: core Events on the
// Node, and metrics.
//
//	Source (one a process) ── Node ──▶ Observer (one a node)
//	what was written ── after the write succeeded ──▶ Observer ──▶ Event, metric
//
// It is output only: nothing is decided by it, and its failures stop nothing.
package observe
