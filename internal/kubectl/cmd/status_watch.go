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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// board is what a watch has shown last of all events, Nodes and maintenances.
type board struct {
	mu           sync.Mutex
	events       map[string]*lifecyclev1alpha1.LifecycleEvent // guarded by mu
	nodes        map[string]*corev1.Node                      // guarded by mu
	maintenances map[string]*slipwayv1alpha1.NodeMaintenance  // guarded by mu
	lost         string                                       // guarded by mu
	changed      chan struct{}
}

func newBoard() *board {
	return &board{
		events: map[string]*lifecyclev1alpha1.LifecycleEvent{}, nodes: map[string]*corev1.Node{},
		maintenances: map[string]*slipwayv1alpha1.NodeMaintenance{}, changed: make(chan struct{}, 1),
	}
}

// Saw takes in what the watch has seen.
func (b *board) Saw(object client.Object) {
	b.take(func() {
		switch o := object.(type) {
		case *lifecyclev1alpha1.LifecycleEvent:
			b.events[o.Name] = o
		case *corev1.Node:
			b.nodes[o.Name] = o
		case *slipwayv1alpha1.NodeMaintenance:
			b.maintenances[o.Name] = o
		}
	})
}

// Gone takes in what the watch has seen go.
func (b *board) Gone(object client.Object) {
	b.take(func() {
		switch o := object.(type) {
		case *lifecyclev1alpha1.LifecycleEvent:
			delete(b.events, o.Name)
		case *corev1.Node:
			delete(b.nodes, o.Name)
		case *slipwayv1alpha1.NodeMaintenance:
			delete(b.maintenances, o.Name)
		}
	})
}

// Lost takes in that nothing can be seen for now.
func (b *board) Lost(why error) { b.take(func() { b.lost = why.Error() }) }

// Found takes in that something can be seen again.
func (b *board) Found() { b.take(func() { b.lost = "" }) }

func (b *board) take(in func()) {
	b.mu.Lock()
	in()
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *board) overview(named []string) (all []nodeStatus, lost string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return overview(slices.Collect(maps.Values(b.nodes)), slices.Collect(maps.Values(b.events)), named), b.lost
}

// watchStatus shows the overview until ctx ends.
func (t *tool) watchStatus(ctx context.Context, c cluster, f format, named []string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b := newBoard()
	seen, err := c.watched().Watch(ctx, follow.Scope{Nodes: true}, b)
	if err != nil {
		return err
	}
	if !seen.Nodes {
		t.sayNoNodes()
	}
	w := &statusWriter{tool: t, format: f, nodesUnread: !seen.Nodes, shown: map[string]nodeStatus{}}
	for {
		all, lost := b.overview(named)
		w.show(all, lost, t.clock.Now())
		if err := follow.Pause(ctx, t.clock, b.changed); err != nil {
			return err
		}
	}
}

// statusWriter shows an overview again and again.
type statusWriter struct {
	*tool
	format format
	// nodesUnread: they may not be read.
	nodesUnread bool
	drawn       canvas                // on a terminal
	shown       map[string]nodeStatus // elsewhere, by node and event
	lost        string
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
	w.drawn.draw(w.Out, text, style.Height-1)
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
