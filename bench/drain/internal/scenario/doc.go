// SPDX-License-Identifier: Apache-2.0

// Package scenario says what is drained: how many pods of which apps, under which
// budgets, and how long each pod takes to start and to end.
//
//	Scenario + seed + repetition ── Apps ──▶ app: replicas, delays, budget
//
// It is pure. All pods of an app have the same delays, and so has the replacement of
// an evicted one: where delays differ, each pod of the drained node is of an app of
// its own, and what every contender finds is known beforehand.
package scenario
