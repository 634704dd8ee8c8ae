// SPDX-License-Identifier: Apache-2.0

package telemetry

import "sync"

// other is the value of a label for all that there is no room for.
const other = "other"

// maxWords is how many values of a label there may be in one process.
const maxWords = 64

// vocabulary are the values of a label that others choose: the first ones are kept, so
// that nobody can make a process remember without end.
type vocabulary struct {
	mu    sync.Mutex
	words map[string]bool
}

func newVocabulary() *vocabulary { return &vocabulary{words: map[string]bool{}} }

// of is the word, or [other].
func (v *vocabulary) of(word string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.words[word] && len(v.words) >= maxWords {
		return other
	}
	v.words[word] = true
	return word
}
