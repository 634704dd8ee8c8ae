// SPDX-License-Identifier: Apache-2.0

// Package release knows what an installation of Slipway consists of, and what a change of
// it means.
//
//	config/ ── Choice: mode, API group, server ──▶ Release: objects, in the order to apply
//	object on the cluster, the same applied as a dry run ──▶ Same, Change or Create
//	objects of the cluster ──▶ Installed: image, mode
//
// It decides, and does no I/O: that is internal/kubectl/install/installer's.
package release
