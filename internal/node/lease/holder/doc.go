// SPDX-License-Identifier: Apache-2.0

// Package holder acquires, renews and releases the leases of the nodes that Slipway works on, as lease.Next decides.
//
//	LifecycleEvents, Nodes, Leases (watched, in the process's cache) ──▶ lease.Next ──▶ one step for a node
//
// It decides nothing. It runs in the leader among the controller's processes only.
package holder
