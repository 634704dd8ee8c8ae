// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/internal/explain"
)

func TestTextsAreCutBetweenLetters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(3, 40).Draw(t, "limit")
		short := explain.Shorten(text, limit)
		start, cut := strings.CutSuffix(short, "…")
		switch {
		case len(short) > limit:
			t.Errorf("%q has %d bytes; want at most %d", short, len(short), limit)
		case len(text) <= limit && short != text:
			t.Errorf("%q fits, and is %q", text, short)
		case len(text) > limit && (!cut || !strings.HasPrefix(text, start) || len(short) < limit-utf8.UTFMax+1):
			t.Errorf("%q is %q", text, short)
		}
	})
}
