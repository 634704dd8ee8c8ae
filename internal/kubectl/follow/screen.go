// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// Screen draws the model.
type Screen interface {
	// Show brings it up to date.
	Show(told *progress.Model, now time.Time)
	// Clear removes what would be drawn again.
	Clear()
}

// Terminal shows how it is now, which is redrawn, and above it what has happened.
type Terminal struct {
	// Out is the terminal.
	Out io.Writer
	// Style is asked for each time: a terminal may change its size.
	Style func() ui.Style
	// Steps leaves out all but the few steps that every event takes.
	Steps bool

	told   int // entries of the log
	canvas ui.Canvas
}

// Show brings the terminal up to date.
func (s *Terminal) Show(told *progress.Model, now time.Time) {
	entries := told.Log()[s.told:]
	s.told += len(entries)
	frame := ""
	if !told.Over(now) {
		frame = told.Frame(now, s.Style())
	}
	var news strings.Builder
	for _, entry := range entries {
		if entry.Step || !s.Steps {
			fmt.Fprintln(&news, entry.Line())
		}
	}
	s.canvas.Draw(s.Out, news.String(), frame, 0)
}

// Clear removes the frame.
func (s *Terminal) Clear() { s.canvas.Clear(s.Out) }

// Lines tells what has happened, a line each, where nothing can be redrawn. If nothing
// happens for a while, it says what is still waited for.
type Lines struct {
	Out io.Writer

	told int
	last time.Time
}

// silence is how long nothing is said.
const silence = 30 * time.Second

// Show prints what is new.
func (s *Lines) Show(told *progress.Model, now time.Time) {
	entries := told.Log()[s.told:]
	s.told += len(entries)
	if s.last.IsZero() {
		s.last = now
	}
	if len(entries) == 0 && now.Sub(s.last) >= silence {
		entries = told.Still(now)
	}
	for _, entry := range entries {
		fmt.Fprintln(s.Out, entry.Line())
		s.last = now
	}
}

// Clear has nothing to remove.
func (s *Lines) Clear() {}

// Objects tells programs: one JSON object a change.
type Objects struct {
	Out io.Writer

	told int
}

// Show prints what is new.
func (s *Objects) Show(told *progress.Model, _ time.Time) {
	encoder := json.NewEncoder(s.Out)
	for _, change := range told.Changes()[s.told:] {
		_ = encoder.Encode(change) //nolint:errchkjson // its times are ours, and who does not read any more does not want to
		s.told++
	}
}

// Clear has nothing to remove.
func (s *Objects) Clear() {}

// Nothing shows nothing.
type Nothing struct{}

// Show does nothing.
func (Nothing) Show(*progress.Model, time.Time) {}

// Clear does nothing.
func (Nothing) Clear() {}
