// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/slipway-k8s/slipway/internal/story"
)

// Screen shows a story while it goes on: on a terminal, what has happened and below
// it how it is now, which is redrawn; elsewhere, what has happened.
type Screen struct {
	out      io.Writer
	terminal *os.File // nil: none
	told     int      // entries of the log
	drawn    int      // lines of the frame
}

// NewScreen is a screen on a writer.
func NewScreen(out io.Writer) *Screen {
	s := &Screen{out: out}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		s.terminal = file
	}
	return s
}

// show brings the screen up to date.
func (s *Screen) show(told *story.Story, now time.Time) {
	var text strings.Builder
	s.erase(&text)
	for _, entry := range told.Log()[s.told:] {
		fmt.Fprintln(&text, entry.Line())
	}
	s.told = len(told.Log())
	if s.terminal != nil && !told.Over() {
		frame := told.Frame(now, s.width())
		s.drawn = strings.Count(frame, "\n")
		text.WriteString(frame)
	}
	fmt.Fprint(s.out, text.String())
}

// clear removes the frame.
func (s *Screen) clear() {
	var text strings.Builder
	s.erase(&text)
	fmt.Fprint(s.out, text.String())
}

// erase goes up to where the frame begins, and erases what is below.
func (s *Screen) erase(text *strings.Builder) {
	if s.drawn > 0 {
		fmt.Fprintf(text, "\x1b[%dA\x1b[J", s.drawn)
		s.drawn = 0
	}
}

func (s *Screen) width() int {
	const usual = 80
	width, _, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil || width <= 0 {
		return usual
	}
	return width
}
