// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"strings"
)

// Canvas draws a text at the bottom of a terminal again and again. Nothing else knows how a
// cursor is moved.
type Canvas struct{ drawn string }

// Draw replaces the text by another one of at most so many lines; 0 is without limit. What is
// above the text stays there and scrolls. Both end with a newline, or are empty.
func (c *Canvas) Draw(out io.Writer, above, text string, lines int) {
	text = fitting(text, lines)
	if above == "" && text == c.drawn {
		return
	}
	fmt.Fprint(out, c.erase()+above+text)
	c.drawn = text
}

// Clear removes the text.
func (c *Canvas) Clear(out io.Writer) {
	fmt.Fprint(out, c.erase())
	c.drawn = ""
}

// erase goes up to where the text begins, and erases what is below. It begins at the left: a
// terminal shows the keys that are pressed, as ^C, where the cursor stands.
func (c *Canvas) erase() string {
	if lines := strings.Count(c.drawn, "\n"); lines > 0 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", lines)
	}
	return ""
}

// fitting is at most so many lines of a text.
func fitting(text string, lines int) string {
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if lines < 1 || len(all) <= lines {
		return text
	}
	return strings.Join(all[:lines-1], "") + fmt.Sprintf("and %d more lines\n", len(all)-lines+1)
}
