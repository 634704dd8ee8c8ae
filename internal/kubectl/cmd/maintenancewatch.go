// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maintenanceWatch shows maintenances again and again.
type maintenanceWatch struct {
	*tool
	follow.Store

	cluster cluster
	format  format
	// only is the one that is shown, whole; followed is its UID, where another one of that
	// name is not meant. Empty: all of them.
	only     string
	followed types.UID
	// over says whether this is what was waited for, or as far as it gets. Nil: never.
	over func(*maintenanceRow) bool

	nodesUnread bool
	drawn       ui.Canvas                 // on a terminal
	shown       map[string]maintenanceRow // elsewhere
	phases      map[string]string         // elsewhere, of the nodes of the only one
	lost        string
}

// errGone is that a maintenance has gone that is followed.
var errGone = errors.New("it was deleted")

// run goes on until ctx ends, or it is over: then it returns how it is.
func (w *maintenanceWatch) run(ctx context.Context, begun ...*slipwayv1alpha1.NodeMaintenance) (*maintenanceRow, error) {
	w.shown, w.phases = map[string]maintenanceRow{}, map[string]string{}
	for _, m := range begun { // a list may be older
		w.Saw(m, w.clock.Now())
	}
	watching := false
	err := w.cluster.watched().ToEnd(ctx, w.clock, follow.Scope{Nodes: true, Maintenances: true}, w, func(_ context.Context, seen follow.Scope) error {
		watching = true
		if w.nodesUnread = !seen.Nodes; w.nodesUnread && w.only != "" {
			fmt.Fprintln(w.ErrOut, "You may not list Nodes, so only those are shown that need attention or are out.")
		}
		return nil
	})
	if err != nil && !watching {
		return nil, maintenanceTrouble("watch NodeMaintenances", err)
	}
	return w.last(w.rows()), err
}

// Show shows the maintenances as they are now, and tells whether the one that is followed is
// over.
func (w *maintenanceWatch) Show(_ context.Context, now time.Time) (over bool, err error) {
	rows := w.rows()
	w.show(rows, w.Trouble, now)
	row, err := w.end(rows)
	if row != nil || err != nil {
		w.drawn.Clear(w.Out)
	}
	return row != nil, err
}

// rows are what there is of what is shown.
func (w *maintenanceWatch) rows() []maintenanceRow {
	all := follow.Stored[*slipwayv1alpha1.NodeMaintenance](&w.Store)
	if w.only == "" {
		return maintenanceRows(all)
	}
	i := slices.IndexFunc(all, func(m *slipwayv1alpha1.NodeMaintenance) bool { return m.Name == w.only })
	if i < 0 || w.followed != "" && all[i].UID != w.followed {
		return nil
	}
	row := rowOfMaintenance(all[i])
	if !w.nodesUnread {
		row.withNodes(follow.Stored[*corev1.Node](&w.Store), follow.Stored[*lifecyclev1alpha1.LifecycleEvent](&w.Store))
	}
	return []maintenanceRow{row}
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
	w.drawn.Draw(w.Out, "", text, style.Height-1)
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
