// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// evictionChange is how an eviction is after a change, for programs.
type evictionChange struct {
	Time metav1.MicroTime `json:"time"`
	evictionRow
	// Ended says that this is the last change of the pod.
	Ended bool `json:"ended"`
}

// show tells how the evictions stand: a terminal is redrawn; elsewhere, each change is told.
func (p *evictPursuit) show(rows []evictionRow, ended map[string]evictionRow, lost string, now time.Time) {
	style := p.style()
	switch {
	case p.output == names:
		p.sayLost(lost)
	case p.output == people && style.Terminal:
		p.draw(rows, lost, style, now)
	default:
		p.sayLost(lost)
		p.tell(rows, ended, now)
	}
}

// sayLost says that the server does not answer, where nothing can be redrawn.
func (p *evictPursuit) sayLost(lost string) {
	if lost != p.lost && lost != "" {
		p.note("The API server does not answer: %s", lost)
	}
	p.lost = lost
}

func (p *evictPursuit) draw(rows []evictionRow, lost string, style ui.Style, now time.Time) {
	text := evictionTable(rows, style, now, evictionColumns{})
	if lost != "" {
		text += style.Line(ui.Span{Text: "The API server does not answer: " + lost, Tone: ui.Bad}) + "\n"
	}
	p.drawn.Draw(p.Out, "", text, style.Height-1)
}

// tell tells of those that are otherwise than before.
func (p *evictPursuit) tell(rows []evictionRow, ended map[string]evictionRow, now time.Time) {
	for _, row := range rows {
		before, known := p.shown[row.Pod]
		_, over := ended[row.Pod]
		told := evictionChange{evictionRow: row, Ended: over}
		if known && reflect.DeepEqual(before, told) {
			continue
		}
		p.shown[row.Pod] = told
		if p.output == people {
			if !over { // that is said at the end
				fmt.Fprint(p.Out, row.line(now))
			}
			continue
		}
		told.Time = metav1.NewMicroTime(now)
		if text, err := json.Marshal(told); err == nil {
			fmt.Fprintln(p.Out, string(text))
		}
	}
}
