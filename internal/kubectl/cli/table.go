// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
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
	// Below replaces the column on a narrow terminal with a text below the row. Nil: the column stays.
	Below func(*R) string
}

// Text returns a column of texts; "-" stands for an empty one.
func Text[R any](head string, text func(*R) string) Column[R] {
	return Toned(head, func(r *R) (string, ui.Tone) { return text(r), ui.Plain })
}

// Toned returns a column of texts, each in a tone.
func Toned[R any](head string, cell func(*R) (string, ui.Tone)) Column[R] {
	return Column[R]{Head: head, Cell: func(r *R) ui.Cell {
		text, tone := cell(r)
		return ui.Cell{Text: OrDash(text), Tone: tone}
	}}
}

// Under returns a column of texts that stand below the row on a narrow terminal.
func Under[R any](head string, text func(*R) string) Column[R] {
	c := Text(head, text)
	c.Below = func(r *R) string {
		if says := text(r); says != "" && says != "-" {
			return strings.ToLower(head) + ": " + says
		}
		return ""
	}
	return c
}

// Table returns a table of at least one row.
func Table[R any](style ui.Style, rows []R, columns []Column[R]) string {
	fits := style.Fits(cellsOf(rows, columns, true))
	lines := style.Table(cellsOf(rows, columns, fits))
	text := lines[0] + "\n"
	for i := range rows {
		text += lines[i+1] + "\n"
		for _, c := range columns {
			if fits || c.Below == nil {
				continue
			}
			if below := c.Below(&rows[i]); below != "" {
				for _, line := range style.Wrap("  ", below) {
					text += style.Paint(ui.Faint, line) + "\n"
				}
			}
		}
	}
	return text
}

func cellsOf[R any](rows []R, columns []Column[R], all bool) [][]ui.Cell {
	table := make([][]ui.Cell, len(rows)+1)
	for _, c := range columns {
		if c.Below != nil && !all {
			continue
		}
		table[0] = append(table[0], ui.Cell{Text: c.Head, Tone: ui.Strong})
		for i := range rows {
			table[i+1] = append(table[i+1], c.Cell(&rows[i]))
		}
	}
	return table
}

// OrDash returns the text, or "-".
func OrDash(text string) string { return cmp.Or(text, "-") }

// Ago returns the time since at, in kubectl's format.
func Ago(at *metav1.Time, now time.Time) string {
	if at == nil {
		return "-"
	}
	return duration.HumanDuration(max(now.Sub(at.Time), 0))
}

// Until returns the time that remains until at.
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

// Stamp returns a time in RFC 3339, or "".
func Stamp(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// Few joins the first texts, and counts the rest.
func Few(texts []string, most int) string {
	text := strings.Join(texts[:min(most, len(texts))], ", ")
	if more := len(texts) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Page collects paragraphs.
type Page struct {
	Style ui.Style
	text  strings.Builder
}

func (p *Page) String() string { return p.text.String() }

// Section adds an empty line and a title.
func (p *Page) Section(title string) {
	p.Line("")
	p.Text(ui.Strong, "", title)
}

// List adds a section of texts, if there are any.
func (p *Page) List(title string, tone ui.Tone, all []string) {
	if len(all) == 0 {
		return
	}
	p.Section(title)
	for _, text := range all {
		p.Text(tone, "   - ", text)
	}
}

// Text adds a wrapped text. It colors each line by itself.
func (p *Page) Text(tone ui.Tone, head, text string) {
	for _, line := range p.Style.Wrap(head, text) {
		p.Line(p.Style.Paint(tone, line))
	}
}

// Columns adds a table below an empty line.
func (p *Page) Columns(rows [][]ui.Cell) {
	p.Line("")
	p.Add(p.Style.Columns(rows))
}

// Line adds a text, and a newline.
func (p *Page) Line(text string) { p.Add(text + "\n") }

// Add adds an unchanged text.
func (p *Page) Add(text string) { p.text.WriteString(text) }
