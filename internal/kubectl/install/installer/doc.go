// SPDX-License-Identifier: Apache-2.0

// Package installer puts a release onto a cluster and takes it away, with the rights of who
// calls.
//
//	Preview ──▶ what would change ── asked by cli ──▶ Apply ──▶ AwaitReady ──▶ Delete
//	Survey  ──▶ what would go, and who is at work ──▶ Remove
//
// While it installs, it deletes nothing but the rights of another variant, when nobody needs
// them any more. It writes Nodes only through node/state, and is no part of what runs in the
// cluster.
package installer
