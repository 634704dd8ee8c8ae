// SPDX-License-Identifier: Apache-2.0

// Package record is the only writer of LifecycleEvents, and deletes the transitions
// that a driver left behind.
//
//	a step of transition or oversight ── compare and swap ──▶ API server
//
// It writes as the process itself, never as the node. Each write holds only if the
// object is still as it was seen when the step was decided; if not, the write is
// [ErrStale]: the change that came in between gives another step. It decides nothing.
package record
