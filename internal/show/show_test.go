// SPDX-License-Identifier: Apache-2.0

package show

import (
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
			if diff := cmp.Diff(tc.want, tc.style.Line(spans...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
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
	got := Style{Color: true}.Table([][]Span{
		{{Text: "NODE"}, {Text: "STATE"}, {Text: "WHO"}},
		{{Text: "worker-10"}, {Text: "ok", Tone: Good}, {Text: "ada"}},
	})
	want := "NODE        STATE   WHO\nworker-10   \x1b[32mok\x1b[0m      ada\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
