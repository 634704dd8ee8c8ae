// SPDX-License-Identifier: Apache-2.0

// Package manifests moves manifests of static pods out of the kubelet's folder and back: it
// gathers facts and performs the steps of staticpod.Next.
//
//	the Node, watched as the node ────┐
//	DIR/*         the kubelet's ──────┼─▶ staticpod.Next ──▶ a rename, or the journal anew
//	DIR/.slipway/* those away ────────┤               └──▶ what the Node says, by node/state
//	DIR/.slipway/.journal ────────────┘
//
// The kubelet reads the files of DIR, and of no folder in it; what begins with a dot it does
// not look at. So a manifest is away when it is renamed within one mount, and who wants it back
// moves it by hand. A rename replaces no file, and is on the disk before the next step.
//
// It decides nothing. It writes no manifest, and deletes none.
package manifests
