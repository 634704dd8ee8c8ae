// SPDX-License-Identifier: Apache-2.0

// Package ideal is the evictor that a drain is measured against: it watches the
// budgets and evicts the moment one allows it, one eviction at a time.
//
//	watch: pods of the nodes, budgets ─▶ the first pod that may go ─▶ evict ─▶ …
//
// No drain that keeps the budgets, adds no capacity and sends one eviction at a time can
// be much faster. Whoever evicts under several budgets at once can: that is the reason
// why a contender may beat it where there are several, or none.
//
// It is no drain that anyone should use. It knows the workload: all pods are ready, and
// of one namespace; each has one budget at most; nobody else evicts. It has the rights
// of an administrator, no limit on its requests, and handles no failure.
package ideal
