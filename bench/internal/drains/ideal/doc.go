// SPDX-License-Identifier: Apache-2.0

// Package ideal is the evictor that a drain is measured against. It watches the
// PodDisruptionBudgets and evicts the moment one allows it, one eviction at a time.
//
//	watch: pods, budgets ─▶ the first pod whose budget allows an eviction ─▶ evict ─▶ …
//
// A drain that respects the budgets, adds no capacity and sends one eviction at a time
// cannot be much faster. A drain that evicts under several budgets at once can be.
//
// Do not use it elsewhere. It assumes that all pods are ready and in one namespace, that
// each has one budget at most, and that it is the only evictor. It has an administrator's
// permissions, no limit on its requests, and handles no failure.
package ideal
