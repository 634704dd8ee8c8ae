// SPDX-License-Identifier: Apache-2.0

// Package holder delays the shutdown of a machine until its node is drained: it gathers facts and performs the steps
// of shutdown.Hold.
//
//	logind (does a shutdown run?) ────┐
//	the Node, watched as the node ────┼─▶ shutdown.Hold ──▶ a lock of logind, here and in the keeper
//	boot ID ──────────────────────────┘                └──▶ the announcement on the Node, by node/state
//
// The lock needs no API server, which may be unavailable at the start of the process. Another goroutine connects to
// the API server.
//
// The same process moves manifests of static pods (internal/host/manifests).
//
// It decides nothing. The Node, logind and the keeper have its whole memory, so a restart during a shutdown changes
// nothing.
package holder
