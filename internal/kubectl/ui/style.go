// SPDX-License-Identifier: Apache-2.0

// Package ui formats text for terminals and for pipes: width, colors, tables and bars.
//
//	text, width, colors ──▶ lines
//
// It does not depend on the subject of the text.
package ui

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Style describes a place for output. The zero value describes a pipe: lines of any width, without
// colors.
type Style struct {
	// Terminal means that output can be redrawn.
	Terminal bool
	// Width is the number of columns. 0: no limit.
	Width int
	// Height is the number of lines of a terminal.
	Height int
	// Color allows escape sequences for colors.
	Color bool
}

// The usual size applies to a terminal without a reported size.
const (
	usualWidth  = 80
	usualHeight = 24
)

// StyleOf returns the style for a writer. NO_COLOR (https://no-color.org) and TERM=dumb are
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

// Tone is the meaning of a color.
type Tone int

// The tones. A text never depends on its color alone.
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

// Clean returns a text of an untrusted author as one harmless line: without control characters, and
// without characters that turn or hide the text around them (the direction of writing, characters
// without a width).
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

// CleanLines returns [Clean] of each line of a text. To keep untrusted authors from adding lines, clean
// their texts before they become part of this one.
func CleanLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return printable(r)
	}, text)
}

// Cleaned returns a writer that writes [CleanLines] of each text, without colors.
func Cleaned(out io.Writer) io.Writer { return cleaned{out} }

type cleaned struct{ io.Writer }

// Write takes whole characters.
func (c cleaned) Write(text []byte) (int, error) {
	if _, err := io.WriteString(c.Writer, CleanLines(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
