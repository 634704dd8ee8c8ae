// SPDX-License-Identifier: Apache-2.0

package drain

import "slices"

// ages are slots in the order in which they were taken, the oldest first. With many Drains under many budgets, each of
// them asks for each budget in each pass: nothing may look at all slots then.
type ages struct {
	slots []*slot
}

// agesKept is how many slots may be kept besides twice those that are taken, until those that are free again are dropped.
const agesKept = 16

// add appends a slot that was taken now, one of that many.
func (a *ages) add(s *slot, taken int) {
	if len(a.slots) > 2*taken+agesKept {
		a.slots = slices.DeleteFunc(a.slots, func(s *slot) bool { return s.free })
	}
	a.slots = append(a.slots, s)
}

// oldest is the oldest slot that matters; nil: there is none. One that does not matter never will again.
func (a *ages) oldest(matters func(*slot) bool) *slot {
	for len(a.slots) > 0 {
		if s := a.slots[0]; matters(s) {
			return s
		}
		a.slots[0] = nil
		a.slots = a.slots[1:]
	}
	return nil
}
