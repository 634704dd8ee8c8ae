// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALineEndsWhereTheTerminalDoes(t *testing.T) {
	spans := []Span{{Text: "worker-1  "}, {Text: "blocked", Tone: Bad}, {Text: "  by a\nbudget  "}}
	for name, tc := range map[string]struct {
		style Style
		want  string
	}{
		"anywhere":                {Style{}, "worker-1  blocked  by a budget"},
		"on a wide terminal":      {Style{Width: 80, Color: true}, "worker-1  \x1b[31mblocked\x1b[0m  by a budget"},
		"cut in plain text":       {Style{Width: 20, Color: true}, "worker-1  \x1b[31mblocked\x1b[0m  …"},
		"cut in colored text":     {Style{Width: 13, Color: true}, "worker-1  \x1b[31mbl…\x1b[0m"},
		"cut where a span begins": {Style{Width: 11, Color: true}, "worker-1  \x1b[31m…\x1b[0m"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.style.Line(spans...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if cut := strings.Contains(got, ellipsis); tc.style.Holds(spans) == cut {
				t.Errorf("it holds the line: %v, and cuts it: %v", !cut, cut)
			}
		})
	}
}

func TestABarIsFullWhenAllIsDone(t *testing.T) {
	for want, counts := range map[string][2]int{"....": {0, 8}, "#...": {3, 8}, "###.": {7, 8}, "####": {8, 8}} {
		if got := Bar(counts[0], counts[1], 4); got != want {
			t.Errorf("%d of %d is %q, want %q", counts[0], counts[1], got, want)
		}
	}
	if got := Bar(0, 0, 4); got != "...." {
		t.Errorf("nothing known is %q", got)
	}
}

func TestColumnsAreAsWideAsTheirCells(t *testing.T) {
	got := Style{Color: true}.Table([][]Cell{
		{{Text: "NODE"}, {Text: "STATE"}, {Text: "WHO"}},
		{{Text: "worker-10"}, {Text: "ok", Tone: Good}, {Text: "ada"}},
	})
	want := []string{"NODE        STATE   WHO", "worker-10   \x1b[32mok\x1b[0m      ada"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATableThatIsTooWideIsCutInOneColumn(t *testing.T) {
	rows := [][]Cell{{{Text: "NODE"}, {Text: "BLOCKED BY"}, {Text: "WHO"}}, {{Text: "w-1"}, {Text: "BudgetExhausted: shop/cart-0"}, {Text: "ada"}}}
	for width, want := range map[int]bool{0: true, 32: false, 40: false, 41: true} {
		if got := (Style{Width: width}).Fits(rows); got != want {
			t.Errorf("it fits %d columns: %v", width, got)
		}
	}
	got := Style{Width: 32}.Table(rows)
	want := []string{"NODE   BLOCKED BY            WHO", "w-1    BudgetExhausted: s…   ada"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALongTextIsBrokenBetweenWords(t *testing.T) {
	const text = "add a replica, or relax the budget"
	for name, tc := range map[string]struct {
		style Style
		want  []string
	}{
		"anywhere":            {Style{}, []string{"  add a replica, or relax the budget"}},
		"on two lines":        {Style{Width: 22}, []string{"  add a replica, or", "  relax the budget"}},
		"on two, and the end": {Style{Width: 16}, []string{"  add a replica,", "  or relax the …"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.style.WrapAtMost("  ", text, 2)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
