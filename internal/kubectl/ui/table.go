// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Cell is a text in a table, with what its color says.
type Cell struct {
	Text string
	Tone Tone
}

// columnGap is between two columns.
const columnGap = 3

// Columns prints rows in columns, below a header. Where the terminal is too narrow, the last
// column is broken into lines; nothing is cut off.
func (s Style) Columns(out io.Writer, header []string, rows [][]Cell) error {
	heads := make([]Cell, len(header))
	for i, text := range header {
		heads[i] = Cell{Text: text, Tone: Strong}
	}
	return s.Rows(out, append([][]Cell{heads}, rows...))
}

// Rows is [Style.Columns] without a header.
func (s Style) Rows(out io.Writer, rows [][]Cell) error {
	rows = cleanCells(rows)
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text)+columnGap)
		}
	}
	for _, row := range rows {
		if _, err := io.WriteString(out, s.row(row, widths)); err != nil {
			return err
		}
	}
	return nil
}

// cleanCells are the rows, each text as [Clean] has it.
func cleanCells(rows [][]Cell) [][]Cell {
	all := make([][]Cell, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			all[i] = append(all[i], Cell{Clean(cell.Text), cell.Tone})
		}
	}
	return all
}

func (s Style) row(row []Cell, widths map[int]int) string {
	var text strings.Builder
	indent := 0
	last := len(row) - 1
	for i, cell := range row[:last] {
		indent += widths[i]
		gap := widths[i] - utf8.RuneCountInString(cell.Text)
		text.WriteString(s.Paint(cell.Tone, cell.Text) + strings.Repeat(" ", gap))
	}
	head := strings.Repeat(" ", indent)
	for i, line := range s.Wrap(head, row[last].Text) {
		if i > 0 {
			text.WriteString(head)
		}
		text.WriteString(s.Paint(row[last].Tone, line[indent:]) + "\n")
	}
	return trimLines(text.String())
}

// trimLines drops the blanks at the ends of lines.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// Count is a number of things: "1 pod", "2 pods".
func Count(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %s", n, plural)
}

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
