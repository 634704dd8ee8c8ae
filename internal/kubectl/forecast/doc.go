// SPDX-License-Identifier: Apache-2.0

// Package forecast predicts a maintenance of many nodes.
//
//	facts ─▶ as if it could begin ─▶ maintenance.Look ─▶ state of each node
//	                                                       │
//	                rollout.Next ─▶ a batch ─▶ it returns ─┤ again, while nodes wait and can start
//	                                  │
//	                                  └─▶ plan.Plan ─▶ pods that leave, blockers
//
// Package rollout selects the nodes that start, from facts of package maintenance. Package plan
// predicts their drains. The forecast does not know the duration of drains: all nodes of a batch
// return together, healthy.
//
// The package is pure: no client, no clock, no goroutine.
package forecast
