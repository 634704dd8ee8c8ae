// SPDX-License-Identifier: Apache-2.0

// Package record is the only writer of LifecycleEvents, and deletes the transitions
// that a driver left behind.
//
//	a step of transition or oversight ── compare and swap ──▶ API server
//
// It writes as the process itself, never as the node. A write fails with [ErrStale] if the object has changed since the
// decision: the next decision then starts from the change. It decides nothing.
package record
