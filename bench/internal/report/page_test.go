// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"testing"
)

func TestInsert(t *testing.T) {
	const (
		begin = "<!-- cost: begin (make bench writes this) -->\n"
		end   = "<!-- cost: end -->\n"
	)
	for name, c := range map[string]struct{ page, want string }{
		"empty": {"a\n" + begin + end + "b\n", "a\n" + begin + "new\n" + end + "b\n"},
		"by other": {
			"<!-- cost: begin (make soak writes this) -->\nold\n" + end,
			"<!-- cost: begin (make soak writes this) -->\nnew\n" + end,
		},
		"replaces": {begin + "old\nold\n" + end, begin + "new\n" + end},
		"no end":   {"a\n" + begin + "b\n", ""},
		"no begin": {"a\n" + end, ""},
		"other":    {"<!-- bench: begin (make bench writes this) -->\n<!-- bench: end -->\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := insert(c.page, "cost", "new\n")
			if got != c.want || errors.Is(err, ErrNoMarkers) != (c.want == "") {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
