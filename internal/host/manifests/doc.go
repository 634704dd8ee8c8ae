// SPDX-License-Identifier: Apache-2.0

// Package manifests moves manifests of static pods out of the kubelet's folder and back: it gathers facts and performs
// the steps of staticpod.Next.
//
//	the Node, watched as the node ────┐
//	DIR/*         the kubelet's ──────┼─▶ staticpod.Next ──▶ a rename, or a new journal
//	DIR/.slipway/* moved away ────────┤               └──▶ the Node's report, by node/state
//	DIR/.slipway/.journal ────────────┘
//
// The kubelet reads the files of DIR, but no folder in it, and ignores names that begin with a dot. So a rename within
// one mount moves a manifest away, and an administrator can move it back by hand. A rename replaces no file, and is on
// disk before the next step.
//
// The package decides nothing. It writes no manifest, and deletes none.
package manifests
