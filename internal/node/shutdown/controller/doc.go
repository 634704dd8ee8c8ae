// SPDX-License-Identifier: Apache-2.0

// Package controller has the nodes drained whose machines are being shut down, and returned
// when they have booted, as shutdown.Next decides.
//
//	Nodes (what slipway-host announces, boot ID), LifecycleEvents ──▶ shutdown.Next ──▶ one step for a node
//
// Each step is decided again on what the API server has before it is done. It decides nothing,
// and remembers nothing. It runs in the leader among the controller's processes only. No taint
// is its to set or to take: that a node is out of service for good is for others to say.
package controller
