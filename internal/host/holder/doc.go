// SPDX-License-Identifier: Apache-2.0

// Package holder holds the shutdown of a machine until its node is drained: it gathers facts
// and performs the steps of shutdown.Hold.
//
//	logind (is a shutdown going on?) ─┐
//	the Node, watched as the node ────┼─▶ shutdown.Hold ──▶ a lock of logind's, here and at the keeper
//	boot ID ──────────────────────────┘                └──▶ the announcement on the Node, by node/state
//
// The lock needs no API server, which may be away when this process begins: then what needs one is
// connected to it beside the holder, when it answers.
//
// Beside it, in the same process, runs who moves manifests of static pods (internal/host/manifests).
//
// It decides nothing, and remembers nothing that is not on the Node, at logind or at the
// keeper: whoever kills it in the middle of a shutdown changes nothing.
package holder
