// SPDX-License-Identifier: Apache-2.0

package reasons_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/internal/reasons"
)

func TestTextsAreCutBetweenLetters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(3, 40).Draw(t, "limit")
		short := reasons.Shorten(text, limit)
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

func TestTextsAreCutOnTheEdgeOfARune(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"it is short":                           {"123456789", "123456789"},
		"it just fits":                          {"1234567890", "1234567890"},
		"one byte too long":                     {"12345678901", "1234567…"},
		"a rune of two bytes ends at the cut":   {"12345ä8901", "12345ä…"},
		"a rune of two bytes is cut":            {"123456ä901", "123456…"},
		"a rune of four bytes is cut":           {"1234🚢9012", "1234…"},
		"nothing but what goes on a rune":       {strings.Repeat("\x80", 11), "…"},
		"the first byte of a rune, and no more": {"\xc3" + strings.Repeat("\x80", 10), "…"},
	} {
		if got := reasons.Shorten(tc.text, 10); got != tc.want {
			t.Errorf("%s: got %q; want %q", name, got, tc.want)
		}
	}
}
