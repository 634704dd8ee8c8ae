// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// Live shows something that changes: it redraws a terminal, and prints each change elsewhere. A
// [follow.View] embeds it and adds Show.
type Live struct {
	*Tool
	follow.Store
	Format Format

	canvas ui.Canvas
	lost   string
}

// Picture is the content of [Live] at a moment.
type Picture struct {
	// Text is for a terminal.
	Text func(style ui.Style) string
	// News are the changes since the last time.
	News func() string
}

// Update shows a picture.
func (l *Live) Update(p Picture) {
	style := l.Style()
	if style.Terminal && (l.Format == Human || l.Format == Wide) {
		l.Draw(style, p)
		return
	}
	if l.Trouble != l.lost && l.Trouble != "" {
		l.Notef("The API server does not answer: %s", ui.Clean(l.Trouble))
	}
	l.lost = l.Trouble
	if l.Format != Name {
		fmt.Fprint(l.Out, p.News())
	}
}

// Draw shows a picture on a terminal.
func (l *Live) Draw(style ui.Style, p Picture) {
	text := p.Text(style)
	if l.Trouble != "" {
		text += style.Line(ui.Span{Text: "The API server does not answer: " + l.Trouble, Tone: ui.Bad}) + "\n"
	}
	l.canvas.Draw(l.Out, "", text, style.Height-1)
}

// Clear removes what was drawn.
func (l *Live) Clear() { l.canvas.Clear(l.Out) }

// News finds the rows that have changed since the last time.
type News[R any] struct {
	// Key identifies a row. Part returns the compared part of it; nil: the whole row.
	Key  func(*R) string
	Part func(R) any

	shown map[string]R
}

// Next compares the rows with the previous ones: it returns new and changed rows, and deleted rows.
func (n *News[R]) Next(rows []R) (changed, gone []R) {
	current := map[string]R{}
	for _, r := range rows {
		k := n.Key(&r)
		current[k] = r
		if before, known := n.shown[k]; !known || !reflect.DeepEqual(n.part(before), n.part(r)) {
			changed = append(changed, r)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(n.shown)) {
		if _, still := current[k]; !still {
			gone = append(gone, n.shown[k])
		}
	}
	n.shown = current
	return changed, gone
}

func (n *News[R]) part(r R) any {
	if n.Part == nil {
		return r
	}
	return n.Part(r)
}

// ChangeLine returns the time and the texts that are not empty, as one line.
func ChangeLine(now time.Time, texts ...string) string {
	parts := slices.DeleteFunc(append([]string{now.UTC().Format(time.TimeOnly)}, texts...), func(text string) bool { return text == "" })
	return ui.Clean(strings.Join(parts, "  ")) + "\n"
}

// Line returns a value as one line of JSON.
func Line(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text) + "\n"
}
