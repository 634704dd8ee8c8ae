// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"cmp"
	"slices"
	"strings"
)

// upTo are the targets after the steps have begun up to a level, one for each class (KEP-4212):
// what has a selector is shown too, with the priority that all pods of its type are at, if
// that is higher.
func upTo(steps []entry, l level) []entry {
	var begun, selecting []entry
	for _, e := range steps {
		switch {
		case e.level().compare(l) <= 0:
			begun = append(begun, e)
		case e.selector != nil:
			selecting = append(selecting, e)
		}
	}
	for _, e := range selecting {
		if i := slices.IndexFunc(begun, func(b entry) bool { return b.podType == e.podType && b.selector == nil }); i >= 0 {
			e.priority = begun[i].priority
			begun = append(begun, e)
		}
	}
	return merge(begun, nil)
}

// merge gives one entry for each class: what either covers is covered.
func merge(a, b []entry) []entry {
	highest := map[class]entry{}
	for _, e := range slices.Concat(a, b) {
		if h, ok := highest[e.class()]; !ok || h.priority < e.priority {
			highest[e.class()] = e
		}
	}
	merged := make([]entry, 0, len(highest))
	for _, e := range highest {
		if all, ok := highest[class{podType: e.podType}]; ok {
			e.priority = max(e.priority, all.priority)
		}
		merged = append(merged, e)
	}
	slices.SortFunc(merged, func(a, b entry) int {
		return cmp.Or(cmp.Compare(rankOf(a.podType), rankOf(b.podType)), strings.Compare(string(a.podType), string(b.podType)),
			strings.Compare(a.text, b.text))
	})
	return merged
}

// cover says whether each entry of some is covered by one of entries.
func cover(entries, some []entry) bool {
	return !slices.ContainsFunc(some, func(s entry) bool {
		return !slices.ContainsFunc(entries, func(e entry) bool { return e.covers(s) })
	})
}

// highest is the level of the entry that goes furthest.
func highest(entries []entry) level {
	l := bottom
	for _, e := range entries {
		if e.level().compare(l) > 0 {
			l = e.level()
		}
	}
	return l
}
