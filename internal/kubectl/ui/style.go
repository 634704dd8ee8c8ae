// SPDX-License-Identifier: Apache-2.0

// Package ui is how text looks on a terminal, and without one: how wide, in which
// colors, in tables and bars.
//
//	text, width, colors ──▶ lines
//
// It does not know what the text is about.
package ui

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Style is how to print to somewhere. The zero value is for no terminal: lines of any
// width, without colors.
type Style struct {
	// Terminal tells that what is printed can be redrawn.
	Terminal bool
	// Width is the number of columns. 0: no limit.
	Width int
	// Height is the number of lines of a terminal.
	Height int
	// Color tells that escape sequences for colors are wanted.
	Color bool
}

// The usual size is that of a terminal which does not say.
const (
	usualWidth  = 80
	usualHeight = 24
)

// StyleOf is the style for a writer. NO_COLOR (https://no-color.org) and TERM=dumb are
// honored.
func StyleOf(out io.Writer, getenv func(string) string) Style {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Style{}
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = usualWidth, usualHeight
	}
	dumb := getenv("TERM") == "dumb"
	return Style{Terminal: !dumb, Width: width, Height: height, Color: !dumb && getenv("NO_COLOR") == ""}
}

// Tone is what a color says.
type Tone int

// The tones. Nothing is said by color alone.
const (
	Plain Tone = iota
	Good
	Warn
	Bad
	Faint
	Strong
)

var codes = map[Tone]string{Good: "32", Warn: "33", Bad: "31", Faint: "2", Strong: "1"}

// Paint colors a text, if colors are wanted.
func (s Style) Paint(tone Tone, text string) string {
	code, ok := codes[tone]
	if !s.Color || !ok || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Clean is a text, which others may have written, as one line that draws nothing of its own:
// what a terminal would obey is left out, and so is what turns or hides what is around it
// (the direction of writing, characters without a width).
func Clean(text string) string { return strings.Map(printable, text) }

func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsPrint(r):
		return r
	default:
		return -1
	}
}

// CleanLines is [Clean] of each of the lines of a text. Lines of their own are not to be
// written by others: what they have written is cleaned before it becomes part of the text.
func CleanLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return printable(r)
	}, text)
}

// Cleaned writes texts as [CleanLines]. Nothing that is written there has colors.
func Cleaned(out io.Writer) io.Writer { return cleaned{out} }

type cleaned struct{ io.Writer }

// Write takes whole characters.
func (c cleaned) Write(text []byte) (int, error) {
	if _, err := io.WriteString(c.Writer, CleanLines(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
