// SPDX-License-Identifier: Apache-2.0

package show

import (
	"strings"
	"unicode/utf8"
)

// gap is between two columns, as in kubectl's tables.
const gap = "   "

// Table is a table whose first row is its header: as wide as its cells, and cut where the
// terminal ends.
func (s Style) Table(rows [][]Span) string {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		var spans []Span
		for i, cell := range row {
			spans = append(spans, cell)
			if i < len(row)-1 {
				spans = append(spans, Span{Text: strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)) + gap})
			}
		}
		text.WriteString(s.Line(spans...) + "\n")
	}
	return text.String()
}
