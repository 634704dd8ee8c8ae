// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"strings"
	"testing"
)

func TestManyNamesAreFewWords(t *testing.T) {
	for names, want := range map[string]string{
		"":                         "",
		"w2 w1":                    "w1, w2",
		"w3 w1 w2":                 "w1 to w3",
		"w9 w10 w11 w13":           "w9 to w11, w13",
		"w09 w10 w11":              "w09 to w11",
		"w9 w010 w11":              "w9, w010, w11",
		"w098 w099 w100 w0101":     "w098 to w100, w0101",
		"a-1 b-2 c-3":              "a-1, b-2, c-3",
		"db web cache":             "cache, db, web",
		"1 2 3":                    "1 to 3",
		"w1 w3 w5 w7 w9 w11":       "w1, w3, w5, w7, w9, w11",
		"w1 w3 w5 w7 w9 w11 w13":   "w1, w3, w5, w7, w9, w11 and 1 more",
		"a1 a2 a3 b c d e f g h":   "a1 to a3, b, c, d, e, f and 2 more",
		"x99999999999999999999999": "x99999999999999999999999",
	} {
		if got := Names(strings.Fields(names), false); got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
	if got, want := Names(strings.Fields("a b c d e f g h"), true), "a, b, c, d, e, f, g, h"; got != want {
		t.Errorf("all of them are %q, want %q", got, want)
	}
}
