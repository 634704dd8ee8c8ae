// SPDX-License-Identifier: Apache-2.0

// Package staticpod decides about static pods, which the kubelet runs from a folder: whose
// manifests are to be away, and what a drain may expect of that.
//
//	on the machine   the Node's wishes ──┐
//	                 both folders ───────┼─▶ Next ─▶ one step: write the journal, take a manifest
//	                 the journal ────────┘           away, put one back, say on the Node how it is
//	in the drain     the Node's report ─▶ Expect ─▶ is somebody there who takes the pod away?
//
// What is to be moved is in the journal before it is moved, so that a manifest that somebody
// has put back by hand is told from one that was not taken yet. Where the journal cannot be
// read, all that is in the folder of those that are away was put there by us. While nobody can
// say what the Node wishes, it wishes what the journal says.
//
// It has no client, clock or goroutine, and knows files by their names only. It never has a
// manifest moved onto another one, nor one that nobody asked for; what runs the control plane
// only if the machine was told so.
package staticpod
