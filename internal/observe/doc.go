// SPDX-License-Identifier: Apache-2.0

// Package observe tells people and monitoring what has happened: core Events on the
// Node, as the node, and metrics.
//
//	what was written ── after the write succeeded ──▶ Event, metric
//
// It is output only: nothing is decided by it, and its failures stop nothing.
package observe
