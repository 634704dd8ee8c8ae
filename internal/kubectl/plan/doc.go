// SPDX-License-Identifier: Apache-2.0

// Package plan predicts the drain of some nodes, and finds nodes for the replacements of their
// pods.
//
//	facts ─▶ drain.Preview ─▶ pods that leave ─▶ place ─▶ a node, or none ─▶ prediction
//	             ▲                                            │
//	             └──── a pod without a node frees no budget ──┘
//
// Package drain decides about pods. This package checks each node by the requirements of the
// scheduler: one requirement a file. The prediction names the ignored influences.
//
// The package is pure: no client, no clock, no goroutine. Only package drain may decide about
// pods.
package plan
