// SPDX-License-Identifier: Apache-2.0

// Package installer puts a release onto a cluster and takes it away, with the rights of who
// calls.
//
//	Preview ──▶ what would change ── asked by cli ──▶ Apply ──▶ AwaitReady
//	Survey  ──▶ what would go, and who is at work ──▶ Remove
//
// It never deletes anything while it installs, and writes Nodes only through nodestate. It
// is no part of what runs in the cluster.
package installer
