// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maintenanceWatch shows maintenances again and again.
type maintenanceWatch struct {
	*tool
	cluster cluster
	format  format
	// only is the one that is shown, whole; followed is its UID, where another one of that
	// name is not meant. Empty: all of them.
	only     string
	followed types.UID
	// over says whether this is what was waited for, or as far as it gets. Nil: never.
	over func(*maintenanceRow) bool

	nodesUnread bool
	drawn       canvas                    // on a terminal
	shown       map[string]maintenanceRow // elsewhere
	phases      map[string]string         // elsewhere, of the nodes of the only one
	lost        string
}

// errGone is that a maintenance has gone that is followed.
var errGone = errors.New("it was deleted")

// run goes on until ctx ends, or it is over: then it returns how it is.
func (w *maintenanceWatch) run(ctx context.Context, begun ...*slipwayv1alpha1.NodeMaintenance) (*maintenanceRow, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	w.shown, w.phases = map[string]maintenanceRow{}, map[string]string{}
	b := newBoard()
	for _, m := range begun { // a list may be older
		b.Saw(m)
	}
	seen, err := w.cluster.watched().Watch(watching, follow.Scope{Nodes: true, Maintenances: true}, b)
	if err != nil {
		return nil, maintenanceTrouble("watch NodeMaintenances", err)
	}
	if w.nodesUnread = !seen.Nodes; w.nodesUnread && w.only != "" {
		fmt.Fprintln(w.ErrOut, "You may not list Nodes, so only those are shown that need attention or are out.")
	}
	for {
		rows, lost := w.rows(b)
		w.show(rows, lost, w.clock.Now())
		if row, err := w.end(rows); row != nil || err != nil {
			w.drawn.clear(w.Out)
			return row, err
		}
		if err := follow.Pause(ctx, w.clock, b.changed); err != nil {
			return w.last(rows), err
		}
	}
}

// rows are what there is of what is shown.
func (w *maintenanceWatch) rows(b *board) (rows []maintenanceRow, lost string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.only == "" {
		return maintenanceRows(slices.Collect(maps.Values(b.maintenances))), b.lost
	}
	m, there := b.maintenances[w.only]
	if !there || w.followed != "" && m.UID != w.followed {
		return nil, b.lost
	}
	row := rowOfMaintenance(m)
	if !w.nodesUnread {
		row.withNodes(slices.Collect(maps.Values(b.nodes)), slices.Collect(maps.Values(b.events)))
	}
	return []maintenanceRow{row}, b.lost
}

// last is the one that is followed.
func (w *maintenanceWatch) last(rows []maintenanceRow) *maintenanceRow {
	if w.only == "" || len(rows) == 0 {
		return nil
	}
	return &rows[0]
}

// end is how the one is that is followed, when it is over.
func (w *maintenanceWatch) end(rows []maintenanceRow) (*maintenanceRow, error) {
	row := w.last(rows)
	switch {
	case w.over == nil:
		return nil, nil
	case row == nil:
		return nil, errGone
	case !row.Outdated && w.over(row):
		return row, nil
	default:
		return nil, nil
	}
}

func (w *maintenanceWatch) show(rows []maintenanceRow, lost string, now time.Time) {
	style := ui.StyleOf(w.Out, os.Getenv)
	if style.Terminal && (w.format == people || w.format == wide) {
		w.draw(rows, lost, style, now)
		return
	}
	if lost != w.lost && lost != "" {
		fmt.Fprintln(w.ErrOut, "The API server does not answer:", ui.Clean(lost))
	}
	w.lost = lost
	if w.format != names {
		fmt.Fprint(w.Out, w.news(rows, now))
	}
}

func (w *maintenanceWatch) draw(rows []maintenanceRow, lost string, style ui.Style, now time.Time) {
	text := w.text(rows, style, now)
	if lost != "" {
		text += style.Line(ui.Span{Text: "The API server does not answer: " + lost, Tone: ui.Bad}) + "\n"
	}
	w.drawn.draw(w.Out, text, style.Height-1)
}

func (w *maintenanceWatch) text(rows []maintenanceRow, style ui.Style, now time.Time) string {
	switch {
	case len(rows) == 0 && w.only != "":
		return "NodeMaintenance " + ui.Clean(w.only) + " is not there.\n"
	case len(rows) == 0:
		return noMaintenances
	case w.only != "":
		return maintenanceText(&rows[0], style, now, w.format == wide)
	default:
		return maintenanceTable(rows, style, now, w.format == wide)
	}
}
