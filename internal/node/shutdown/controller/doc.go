// SPDX-License-Identifier: Apache-2.0

// Package controller drains the nodes whose machines shut down, and returns them after their boot, as shutdown.Next
// decides.
//
//	Nodes (announcements of slipway-host, boot IDs), LifecycleEvents ──▶ shutdown.Next ──▶ one step for a node
//
// It decides each step again on the API server's current facts before it performs the step. It has no policy and no
// memory. It runs only in the leader among the controller's processes. It writes no taint: out-of-service is a decision
// of other controllers.
package controller
