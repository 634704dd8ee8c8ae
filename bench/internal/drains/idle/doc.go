// SPDX-License-Identifier: Apache-2.0

// Package idle computes how much of a drain was wasted: a pod could have been evicted,
// and nobody was evicting.
//
//	when budgets allowed + which pods they guard + when evictions were in flight ─▶ Shares
//
// It is pure. A pod is evictable from the begin of the drain until its eviction is
// accepted: from then on it is terminating, and no longer counted. An eviction that is
// refused in the end was in flight all the same.
package idle
