// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"io"
	"strings"
)

// canvas is a text on a terminal that is drawn again and again.
type canvas struct{ drawn string }

// draw replaces the text by another one, of at most so many lines.
func (c *canvas) draw(out io.Writer, text string, lines int) {
	text = fitting(text, lines)
	if text == c.drawn {
		return
	}
	fmt.Fprint(out, c.erase()+text)
	c.drawn = text
}

// clear removes it.
func (c *canvas) clear(out io.Writer) {
	fmt.Fprint(out, c.erase())
	c.drawn = ""
}

// erase goes up to where the text begins: what was typed may have moved the cursor.
func (c *canvas) erase() string {
	if lines := strings.Count(c.drawn, "\n"); lines > 0 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", lines)
	}
	return ""
}

// fitting is at most so many lines of a text.
func fitting(text string, lines int) string {
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if len(all) <= lines || lines < 1 {
		return text
	}
	return strings.Join(all[:lines-1], "") + fmt.Sprintf("and %d more lines\n", len(all)-lines+1)
}
