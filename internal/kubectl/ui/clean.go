// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"io"
	"strings"
	"unicode"
)

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
