// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"unicode/utf8"
)

// Table are the lines of a table, one for each row; the first is its header. Where the
// terminal is too narrow, the cells of one column are cut, and only then the lines.
func (s Style) Table(rows [][]Cell, flexible int) []string {
	const narrowest = 12
	rows = cleanCells(rows)
	widths, total := columnWidths(rows)
	if over := total - s.Width; s.Width > 0 && over > 0 {
		widths[flexible] = max(widths[flexible]-over, min(narrowest, widths[flexible]))
	}
	var lines []string
	for _, row := range rows {
		var spans []Span
		for i, cell := range row {
			cell.Text = Clip(cell.Text, widths[i])
			spans = append(spans, Span(cell))
			if i < len(row)-1 {
				spans = append(spans, Span{Text: strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)+columnGap)})
			}
		}
		lines = append(lines, s.Line(spans...))
	}
	return lines
}

// Fits says whether a table is not wider than the terminal.
func (s Style) Fits(rows [][]Cell) bool {
	_, total := columnWidths(cleanCells(rows))
	return s.Width <= 0 || total <= s.Width
}

// columnWidths are those of the columns, and of all of them side by side.
func columnWidths(rows [][]Cell) (widths map[int]int, total int) {
	widths = map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	total = -columnGap
	for _, width := range widths {
		total += width + columnGap
	}
	return widths, total
}
