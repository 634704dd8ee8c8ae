// SPDX-License-Identifier: Apache-2.0

// Package staticpod decides about static pods, which the kubelet runs from a folder: which manifests must leave the
// folder, and what a drain can expect.
//
//	on the machine   the Node's wishes ──┐
//	                 both folders ───────┼─▶ Next ─▶ one step: write the journal, move a manifest away
//	                 the journal ────────┘           or back, report on the Node
//	in the drain     the Node's report ─▶ Expect ─▶ does slipway-host move the manifest?
//
// The journal records each move before it happens, so that a manifest that an administrator has moved back differs
// from a manifest that was not moved yet. Without a readable journal, every manifest in the second folder counts as
// moved by slipway-host. While the wishes are unknown, the wishes in the journal hold.
//
// It has no client, clock or goroutine, and knows files by their names only. It never replaces a manifest by another
// one, moves no manifest without a wish, and moves manifests of the control plane only with the machine's permission.
package staticpod
