// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cell is a text in a table, in a tone.
type Cell = Span

// columnGap separates two columns.
const columnGap = 3

// Columns returns rows in columns. On a narrow terminal, it breaks the last column into lines; it
// never cuts a text.
func (s Style) Columns(rows [][]Cell) string {
	room := 0
	if s.Width > 0 {
		widths, total := columnWidths(rows)
		room = max(s.Width-(total-widths[len(widths)-1]), 1)
	}
	var broken [][]Cell
	for _, row := range rows {
		last := len(row) - 1
		for i, line := range (Style{Width: room}).Wrap("", row[last].Text) {
			part := make([]Cell, len(row))
			if i == 0 {
				copy(part, row)
			}
			part[last] = Cell{line, row[last].Tone}
			broken = append(broken, part)
		}
	}
	return strings.Join(Style{Color: s.Color}.Table(broken), "\n") + "\n"
}

// Header returns a row of column heads.
func Header(heads ...string) []Cell {
	row := make([]Cell, len(heads))
	for i, head := range heads {
		row[i] = Cell{head, Strong}
	}
	return row
}

// Table returns the lines of a table, one for each row. On a narrow terminal, it cuts the cells of
// the widest column, and then the lines.
func (s Style) Table(rows [][]Cell) []string {
	const narrowest = 12
	widths, total := columnWidths(rows)
	if over := total - s.Width; s.Width > 0 && over > 0 {
		widest := 0
		for i, width := range widths {
			if width > widths[widest] {
				widest = i
			}
		}
		widths[widest] = max(widths[widest]-over, min(narrowest, widths[widest]))
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var spans []Span
		for i, cell := range row {
			text := Clip(Clean(cell.Text), widths[i])
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+columnGap)
			spans = append(spans, Span{text, cell.Tone}, Span{Text: gap})
		}
		lines = append(lines, s.Line(spans[:len(spans)-1]...))
	}
	return lines
}

// Fits reports whether a table is not wider than the terminal.
func (s Style) Fits(rows [][]Cell) bool {
	_, total := columnWidths(rows)
	return s.Width <= 0 || total <= s.Width
}

// columnWidths returns the widths of the columns, and of the table.
func columnWidths(rows [][]Cell) (widths []int, total int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(Clean(cell.Text)))
		}
	}
	total = -columnGap
	for _, width := range widths {
		total += width + columnGap
	}
	return widths, total
}

// Count returns a number of things: "1 pod", "2 pods".
func Count(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %s", n, plural)
}
