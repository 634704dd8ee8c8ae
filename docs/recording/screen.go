// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/hinshun/vt10x"
)

// screen is what a terminal shows: its rows, each as runs of characters of one look.
type screen struct {
	rows   []row
	cursor position
	shown  bool // the cursor
}

type position struct{ column, row int }

type row []run

// run is text of one look.
type run struct {
	column int
	text   string
	class  string // of the style sheet; empty: plain
}

// The looks that the terminal of the recording knows, by the emulator's colors. What is
// bold is of a bright color there.
var classes = map[vt10x.Color]string{
	vt10x.Red: "bad", vt10x.LightRed: "bad",
	vt10x.Green: "good", vt10x.LightGreen: "good",
	vt10x.Yellow: "warn", vt10x.LightYellow: "warn",
	vt10x.DarkGrey: "faint",
}

// The bits of a glyph's mode; the emulator does not export them.
const bold = 1 << 2

func look(glyph vt10x.Glyph) string {
	if class, ok := classes[glyph.FG]; ok {
		return class
	}
	if glyph.Mode&bold != 0 {
		return "strong"
	}
	return ""
}

// screenOf reads the emulator, which must not change meanwhile.
func screenOf(view vt10x.View) screen {
	columns, rows := view.Size()
	cursor := view.Cursor()
	s := screen{cursor: position{cursor.X, cursor.Y}, shown: view.CursorVisible()}
	for y := range rows {
		s.rows = append(s.rows, rowOf(view, y, columns))
	}
	return s
}

func rowOf(view vt10x.View, y, columns int) row {
	var r row
	for x := range columns {
		glyph := view.Cell(x, y)
		char, class := glyph.Char, look(glyph)
		if char == 0 {
			char = ' '
		}
		if last := len(r) - 1; last >= 0 && r[last].class == class {
			r[last].text += string(char)
			continue
		}
		r = append(r, run{column: x, text: string(char), class: class})
	}
	return r.trimmed()
}

// trimmed leaves out spaces at the end of the row, which nobody sees.
func (r row) trimmed() row {
	for len(r) > 0 {
		last := &r[len(r)-1]
		if last.text = strings.TrimRight(last.text, " "); last.text != "" {
			return r
		}
		r = r[:len(r)-1]
	}
	return nil
}

// String is the text without its looks.
func (s screen) String() string {
	var b strings.Builder
	for _, r := range s.rows {
		column := 0
		for _, part := range r {
			b.WriteString(strings.Repeat(" ", part.column-column))
			b.WriteString(part.text)
			column = part.column + len([]rune(part.text))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
