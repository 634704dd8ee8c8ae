// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"maps"
	"slices"
)

// edits of a text. Those at the same place come in the order in which they were noted, and
// before what is replaced there.
type edits []edit

type edit struct {
	offset, length int // of what is replaced
	text           string
}

func (e *edits) insert(offset int, text string) { *e = append(*e, edit{offset: offset, text: text}) }

func (e *edits) replace(offset int, old, text string) {
	*e = append(*e, edit{offset: offset, length: len(old), text: text})
}

func (e edits) apply(text []byte) []byte {
	var out []byte
	at := 0
	sorted := slices.SortedStableFunc(slices.Values(e), func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.length, b.length)) // a+b: what ends before the operator
	})
	for _, edit := range sorted {
		out = append(out, text[at:edit.offset]...)
		out = append(out, edit.text...)
		at = edit.offset + edit.length
	}
	return append(out, text[at:]...)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
