// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// watchStatus shows the overview until ctx ends.
func (t *tool) watchStatus(ctx context.Context, c cluster, f format, named []string) error {
	w := &statusWriter{tool: t, format: f, named: named, shown: map[string]nodeStatus{}}
	return c.watched().ToEnd(ctx, t.clock, follow.Scope{Nodes: true}, w, func(_ context.Context, seen follow.Scope) error {
		if w.nodesUnread = !seen.Nodes; w.nodesUnread {
			t.sayNoNodes()
		}
		return nil
	})
}

// statusWriter shows an overview again and again.
type statusWriter struct {
	*tool
	follow.Store

	format format
	named  []string
	// nodesUnread: they may not be read.
	nodesUnread bool
	drawn       ui.Canvas             // on a terminal
	shown       map[string]nodeStatus // elsewhere, by node and event
	lost        string
}

// Show shows the nodes as they are now. It never ends by itself.
func (w *statusWriter) Show(_ context.Context, now time.Time) (over bool, err error) {
	nodes, events := follow.Stored[*corev1.Node](&w.Store), follow.Stored[*lifecyclev1alpha1.LifecycleEvent](&w.Store)
	w.show(overview(nodes, events, w.named), w.Trouble, now)
	return false, nil
}

func (w *statusWriter) show(all []nodeStatus, lost string, now time.Time) {
	style := ui.StyleOf(w.Out, os.Getenv)
	if style.Terminal && (w.format == people || w.format == wide) {
		w.draw(all, lost, style, now)
		return
	}
	if lost != w.lost && lost != "" {
		fmt.Fprintln(w.ErrOut, "The API server does not answer:", ui.Clean(lost))
	}
	w.lost = lost
	fmt.Fprint(w.Out, w.news(all, now))
}

func (w *statusWriter) draw(all []nodeStatus, lost string, style ui.Style, now time.Time) {
	text := nothingText(w.nodesUnread)
	if len(all) > 0 {
		text = statusTable(all, style, now, w.format == wide)
	}
	if lost != "" {
		text += style.Line(ui.Span{Text: "The API server does not answer: " + lost, Tone: ui.Bad}) + "\n"
	}
	w.drawn.Draw(w.Out, "", text, style.Height-1)
}

// news are the nodes that are otherwise than before.
func (w *statusWriter) news(all []nodeStatus, now time.Time) string {
	var text strings.Builder
	current := map[string]nodeStatus{}
	for _, s := range all {
		key := s.Node + "/" + s.Event
		current[key] = s
		if before, known := w.shown[key]; !known || !reflect.DeepEqual(before, s) {
			text.WriteString(w.entry(s, now))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.shown)) {
		if _, still := current[key]; still {
			continue
		}
		before := w.shown[key]
		if before.Event != "" {
			text.WriteString(w.entry(nodeStatus{Node: before.Node, Event: before.Event, State: "gone"}, now))
		}
		if !slices.ContainsFunc(all, func(s nodeStatus) bool { return s.Node == before.Node }) {
			text.WriteString(w.entry(nodeStatus{Node: before.Node, State: "not in maintenance any more"}, now))
		}
	}
	w.shown = current
	return text.String()
}

func (w *statusWriter) entry(s nodeStatus, now time.Time) string {
	if w.format != jsonText {
		return statusLine(s, now)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(text) + "\n"
}
