// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// Column is a column of a table whose rows are of type R.
type Column[R any] struct {
	Head string
	Cell func(*R) ui.Cell
	// Below leaves the column out where the terminal is too narrow for the table. What it says
	// stands below the row then.
	Below bool
	// Cut cuts the cells where the terminal is too narrow even so.
	Cut bool
}

// Text returns a column of texts; "-" stands for an empty one.
func Text[R any](head string, text func(*R) string) Column[R] {
	return Column[R]{Head: head, Cell: func(r *R) ui.Cell { return ui.Cell{Text: OrDash(text(r))} }}
}

// Toned returns a column of texts, each in a tone.
func Toned[R any](head string, cell func(*R) (string, ui.Tone)) Column[R] {
	return Column[R]{Head: head, Cell: func(r *R) ui.Cell {
		text, tone := cell(r)
		return ui.Cell{Text: OrDash(text), Tone: tone}
	}}
}

// Under returns the column with [Column.Below].
func (c Column[R]) Under() Column[R] { c.Below = true; return c }

// Short returns the column with [Column.Cut].
func (c Column[R]) Short() Column[R] { c.Cut = true; return c }

// Table returns a table of at least one row. Where it is wider than the terminal, columns that
// are Below are left out, and the texts of below stand below each row, on at most two lines each.
func Table[R any](style ui.Style, rows []R, columns []Column[R], below func(*R) []string) string {
	var text strings.Builder
	if full := cellsOf(rows, columns); style.Fits(full) {
		return strings.Join(style.Table(full, 0), "\n") + "\n"
	}
	var left []Column[R]
	cut := 0
	for _, c := range columns {
		if c.Cut {
			cut = len(left)
		}
		if !c.Below {
			left = append(left, c)
		}
	}
	lines := style.Table(cellsOf(rows, left), cut)
	fmt.Fprintln(&text, lines[0])
	for i := range rows {
		fmt.Fprintln(&text, lines[i+1])
		for _, below := range below(&rows[i]) {
			const most = 2
			for _, line := range style.WrapAtMost("  ", below, most) {
				fmt.Fprintln(&text, style.Paint(ui.Faint, line))
			}
		}
	}
	return text.String()
}

func cellsOf[R any](rows []R, columns []Column[R]) [][]ui.Cell {
	table := make([][]ui.Cell, len(rows)+1)
	for _, c := range columns {
		table[0] = append(table[0], ui.Cell{Text: c.Head, Tone: ui.Strong})
		for i := range rows {
			table[i+1] = append(table[i+1], c.Cell(&rows[i]))
		}
	}
	return table
}

// Dashed returns a cell that is not empty.
func Dashed(text string) ui.Cell {
	if text == "" {
		return ui.Cell{Text: "-", Tone: ui.Faint}
	}
	return ui.Cell{Text: text}
}

// OrDash returns the text, or "-".
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Ago returns how long ago a time was, as kubectl has it.
func Ago(at *metav1.Time, now time.Time) string {
	if at == nil {
		return "-"
	}
	return duration.HumanDuration(max(now.Sub(at.Time), 0))
}

// Until returns in how long a time comes.
func Until(at *metav1.Time, now time.Time) string {
	switch {
	case at == nil:
		return "-"
	case at.Time.Before(now):
		return "passed"
	default:
		return "in " + duration.HumanDuration(at.Sub(now))
	}
}

// Few names the first four of several things, and how many more there are.
func Few(all []string) string {
	const most = 4
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// Page prints paragraphs for people, and keeps the first error of the writer.
type Page struct {
	Out   io.Writer
	Style ui.Style
	Err   error
}

// Section prints an empty line and a title.
func (p *Page) Section(title string) {
	p.Line("")
	p.Text(ui.Strong, "", title)
}

// List prints a section of texts, if there are any.
func (p *Page) List(title string, tone ui.Tone, all []string) {
	if len(all) == 0 {
		return
	}
	p.Section(title)
	for _, text := range all {
		p.Text(tone, "   - ", text)
	}
}

// Text prints a text, wrapped. Each line is colored by itself.
func (p *Page) Text(tone ui.Tone, head, text string) {
	for _, line := range p.Style.Wrap(head, text) {
		p.Line(p.Style.Paint(tone, line))
	}
}

// Columns prints a table below an empty line.
func (p *Page) Columns(style ui.Style, header []string, rows [][]ui.Cell) {
	p.Line("")
	if p.Err == nil {
		p.Err = style.Columns(p.Out, header, rows)
	}
}

// Line prints a line as it is.
func (p *Page) Line(text string) {
	if p.Err == nil {
		_, p.Err = fmt.Fprintln(p.Out, text)
	}
}
