// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"unicode/utf8"
)

// Span is a piece of a line, in a tone.
type Span struct {
	Text string
	Tone Tone
}

// Line joins clean spans, and cuts the line at the width of the terminal.
func (s Style) Line(spans ...Span) string {
	left, end := s.room(spans)
	var line strings.Builder
	for _, span := range spans {
		text := Clean(span.Text)
		n := utf8.RuneCountInString(text)
		if n > left {
			line.WriteString(s.Paint(span.Tone, string([]rune(text)[:left])+end))
			break
		}
		left -= n
		line.WriteString(s.Paint(span.Tone, text))
	}
	return strings.TrimRight(line.String(), " ")
}

// Holds reports whether the spans fit in a line.
func (s Style) Holds(spans []Span) bool {
	_, end := s.room(spans)
	return end == ""
}

// ellipsis marks a cut.
const ellipsis = "…"

// room returns the number of characters of the spans that fit, and the mark after them.
func (s Style) room(spans []Span) (left int, end string) {
	length := 0
	for _, span := range spans {
		length += utf8.RuneCountInString(Clean(span.Text))
	}
	if s.Width <= 0 || length <= s.Width {
		return length, ""
	}
	return s.Width - 1, ellipsis
}

// Clip cuts a text to a number of characters. The last one marks the cut.
func Clip(text string, width int) string {
	runes := []rune(text)
	switch {
	case len(runes) <= width:
		return text
	case width <= 0:
		return ""
	default:
		return string(runes[:width-1]) + ellipsis
	}
}

// Bar returns a bar of width characters.
func Bar(done, total, width int) string {
	if total <= 0 {
		return strings.Repeat(".", width)
	}
	full := min(max(done*width/total, 0), width)
	return strings.Repeat("#", full) + strings.Repeat(".", width-full)
}

// Wrap breaks a text into lines of the style's width. The first line begins with head, the
// others with as many spaces. A word that is too long has a separate line.
func (s Style) Wrap(head, text string) []string {
	words := strings.Fields(Clean(text))
	return s.fold(head, words, "")
}

// WrapAtMost is [Style.Wrap] into a number of lines. It cuts the rest from the last line.
func (s Style) WrapAtMost(head, text string, most int) []string {
	lines := s.Wrap(head, text)
	if len(lines) > most {
		lines = append(lines[:most-1], lines[most-1]+" "+strings.TrimSpace(lines[most]))
	}
	for i := range lines {
		lines[i] = s.Line(Span{Text: lines[i]})
	}
	return lines
}

// WrapCommand wraps a command between its arguments, with a backslash at the end of each line but the
// last.
func (s Style) WrapCommand(head, command string) []string {
	return s.fold(head, arguments(Clean(command)), ` \`)
}

func (s Style) fold(head string, words []string, goesOn string) []string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	line, lines := head, []string(nil)
	empty := true
	for _, word := range words {
		switch {
		case empty:
			line += word
		case s.Width == 0 || utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word)+utf8.RuneCountInString(goesOn) <= s.Width:
			line += " " + word
		default:
			lines = append(lines, line+goesOn)
			line = indent + word
		}
		empty = false
	}
	return append(lines, line)
}

// arguments splits a command at spaces that are not within single quotes.
func arguments(command string) []string {
	quoted := false
	return strings.FieldsFunc(command, func(r rune) bool {
		if r == '\'' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}
