// SPDX-License-Identifier: Apache-2.0

// Package nodelease holds the leases of nodes to what they promise on a real API server: it
// compares and swaps, its garbage collector takes a Lease with its Node, and its RBAC lets
// those work who have the Roles of config/rbac/leases. It runs kubectl slipway lease as people do.
//
//	holders, as packages and as commands ── acquire, renew, release ──▶ a local cluster
package nodelease
