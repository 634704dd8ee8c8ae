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

// Line is the spans after each other, each as [Clean] has it, cut where the terminal ends.
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

// Holds says whether the spans after each other fit in a line.
func (s Style) Holds(spans []Span) bool {
	_, end := s.room(spans)
	return end == ""
}

// ellipsis is where something was cut.
const ellipsis = "…"

// room is how many characters of the spans there is room for, and what comes after them.
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

// Clip cuts a text to a number of characters, and says so by the last of them.
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

// Bar is a bar of so many characters.
func Bar(done, total, width int) string {
	if total <= 0 {
		return strings.Repeat(".", width)
	}
	full := min(max(done*width/total, 0), width)
	return strings.Repeat("#", full) + strings.Repeat(".", width-full)
}
