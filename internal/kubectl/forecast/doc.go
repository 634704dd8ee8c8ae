// SPDX-License-Identifier: Apache-2.0

// Package forecast says what a maintenance of many nodes would do, before anything is done.
//
//	facts ─▶ as if it could begin ─▶ maintenance.Look ─▶ who is where
//	                                                       │
//	                rollout.Next ─▶ a batch ─▶ it returns ─┤ again, until nobody waits, or nobody can begin
//	                                  │
//	                                  └─▶ plan.Plan ─▶ which pods leave, what would block
//
// Who begins is decided by rollout alone, from what maintenance gathers for it; what becomes of
// pods, by plan. In between, all that have begun return together, healthy: how long nodes take is
// not known.
//
// It is pure: no client, no clock, no goroutine. It must not decide who begins, or what blocks.
package forecast
