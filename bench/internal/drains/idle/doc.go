// SPDX-License-Identifier: Apache-2.0

// Package idle computes how much of a drain was wasted: a PodDisruptionBudget allowed an
// eviction, and the drainer evicted nothing.
//
//	when budgets allowed + which pods they select + when evictions were in flight ─▶ Shares
//
// It is pure. A pod is evictable from the beginning of the drain until its eviction is
// accepted. A refused eviction was in flight, too.
package idle
