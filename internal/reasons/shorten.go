// SPDX-License-Identifier: Apache-2.0

package reasons

import "unicode/utf8"

// Shorten is the text in at most limit bytes, which is what API fields are limited in, cut
// between two letters. That something is missing shows at its end.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
