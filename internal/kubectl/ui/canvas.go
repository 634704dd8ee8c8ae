// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"strings"
)

// Canvas redraws a text at the bottom of a terminal. It alone moves the cursor.
type Canvas struct{ drawn string }

// Draw replaces the text by another one of at most this number of lines; 0 means without limit. The
// lines above the text stay and scroll. Both texts end with a newline, or are empty.
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

// erase moves the cursor to the first line of the text, and erases the rest of the screen. It begins at
// the left margin, as a terminal echoes keys such as ^C at the cursor.
func (c *Canvas) erase() string {
	if lines := strings.Count(c.drawn, "\n"); lines > 0 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", lines)
	}
	return ""
}

// fitting returns at most this number of lines of a text.
func fitting(text string, lines int) string {
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if lines < 1 || len(all) <= lines {
		return text
	}
	return strings.Join(all[:lines-1], "") + fmt.Sprintf("and %d more lines\n", len(all)-lines+1)
}
