// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumnsFitWhereItIsShown(t *testing.T) {
	rows := [][]Cell{
		{{Text: "worker-1"}, {Text: "yes", Tone: Good}, {Text: "all is well"}},
		{{Text: "worker-200"}, {Text: "no", Tone: Bad}, {Text: "its agent has not been seen for some minutes"}},
		{{Text: "ö"}, {}, {}},
	}
	for name, tc := range map[string]struct {
		style Style
		want  string
	}{
		"no terminal: lines of any width": {Style{}, `
NODE         READY   SAYS
worker-1     yes     all is well
worker-200   no      its agent has not been seen for some minutes
ö
`},
		"a narrow one: the last column is broken between words": {Style{Width: 50}, `
NODE         READY   SAYS
worker-1     yes     all is well
worker-200   no      its agent has not been seen
                     for some minutes
ö
`},
		"colors take no room": {Style{Color: true}, "\n" +
			"\x1b[1mNODE\x1b[0m         \x1b[1mREADY\x1b[0m   \x1b[1mSAYS\x1b[0m\n" +
			"worker-1     \x1b[32myes\x1b[0m     all is well\n" +
			"worker-200   \x1b[31mno\x1b[0m      its agent has not been seen for some minutes\n" +
			"ö\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want[1:], tc.style.Columns(append([][]Cell{Header("NODE", "READY", "SAYS")}, rows...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
