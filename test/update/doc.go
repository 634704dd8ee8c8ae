// SPDX-License-Identifier: Apache-2.0

// Package update tests what a cluster goes through when Slipway itself is changed on it:
// agents are replaced in a rolling update, manifests are applied anew over drains that are
// under way, and all of it is taken away again, in order and out of order.
//
//	docs/install.md ── its commands, as they stand there ──▶ a control plane with nothing on it
package update
