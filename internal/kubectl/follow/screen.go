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

// Manner is the manner in which a [Screen] shows a model.
type Manner int

// The manners.
const (
	// Nothing shows nothing.
	Nothing Manner = iota
	// Terminal draws the state again and again, and prints the steps above it.
	Terminal
	// Lines prints a line for each change, and for each event that is silent for a while.
	Lines
	// Objects prints a JSON object for each change, for programs.
	Objects
)

// Screen shows a model. The terminal may change its size, so Style is a function.
type Screen struct {
	Manner
	Out   io.Writer
	Style func() ui.Style

	entries, changes int // printed ones
	last             time.Time
	canvas           ui.Canvas
}

// silence is the time without a line after which Lines prints the state.
const silence = 30 * time.Second

// Show prints the news of the model.
func (s *Screen) Show(model *progress.Model, now time.Time) {
	entries, changes := model.Log()[s.entries:], model.Changes()[s.changes:]
	s.entries, s.changes = len(model.Log()), len(model.Changes())
	switch s.Manner {
	case Terminal:
		var steps strings.Builder
		for _, entry := range entries {
			if entry.Step {
				fmt.Fprintln(&steps, entry.Line())
			}
		}
		frame := ""
		if !model.Over(now) {
			frame = model.Frame(now, s.Style())
		}
		s.canvas.Draw(s.Out, steps.String(), frame, 0)
	case Lines:
		if len(entries) == 0 && !s.last.IsZero() && now.Sub(s.last) >= silence {
			entries = model.Still(now)
		}
		for _, entry := range entries {
			fmt.Fprintln(s.Out, entry.Line())
		}
		if len(entries) > 0 || s.last.IsZero() {
			s.last = now
		}
	case Objects:
		encoder := json.NewEncoder(s.Out)
		for _, change := range changes {
			_ = encoder.Encode(change) //nolint:errchkjson // its times are valid, and a reader that closes the pipe wants no more
		}
	case Nothing:
	}
}

// Clear removes the frame from a terminal.
func (s *Screen) Clear() {
	if s.Manner == Terminal {
		s.canvas.Clear(s.Out)
	}
}
