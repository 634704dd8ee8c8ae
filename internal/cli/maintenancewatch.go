// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/follow"
	"github.com/slipway-k8s/slipway/internal/show"
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
	style := show.StyleOf(w.Out, os.Getenv)
	if style.Terminal && (w.format == people || w.format == wide) {
		w.draw(rows, lost, style, now)
		return
	}
	if lost != w.lost && lost != "" {
		fmt.Fprintln(w.ErrOut, "The API server does not answer:", show.Clean(lost))
	}
	w.lost = lost
	if w.format != names {
		fmt.Fprint(w.Out, w.news(rows, now))
	}
}

func (w *maintenanceWatch) draw(rows []maintenanceRow, lost string, style show.Style, now time.Time) {
	text := w.text(rows, style, now)
	if lost != "" {
		text += style.Line(show.Span{Text: "The API server does not answer: " + lost, Tone: show.Bad}) + "\n"
	}
	w.drawn.draw(w.Out, text, style.Height-1)
}

func (w *maintenanceWatch) text(rows []maintenanceRow, style show.Style, now time.Time) string {
	switch {
	case len(rows) == 0 && w.only != "":
		return "NodeMaintenance " + show.Clean(w.only) + " is not there.\n"
	case len(rows) == 0:
		return noMaintenances
	case w.only != "":
		return maintenanceText(&rows[0], style, now, w.format == wide)
	default:
		return maintenanceTable(rows, style, now, w.format == wide)
	}
}

// news are what is otherwise than before: a line, or an object, for each.
func (w *maintenanceWatch) news(rows []maintenanceRow, now time.Time) string {
	var text strings.Builder
	current := map[string]maintenanceRow{}
	for _, r := range rows {
		nodes := r.phases()
		r.Domains = nil // for programs, there would be too much of it
		r.of = nil
		current[r.Name] = r
		before, known := w.shown[r.Name]
		if !known || !reflect.DeepEqual(w.told(before), w.told(r)) {
			text.WriteString(w.entry(r, now))
		}
		if w.only != "" && w.format != jsonText {
			text.WriteString(w.nodeNews(r.Name, nodes, now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.shown)) {
		if _, still := current[name]; !still {
			text.WriteString(w.entry(maintenanceRow{Name: name, UID: w.shown[name].UID, State: "gone"}, now))
		}
	}
	w.shown = current
	return text.String()
}

// told is of a row what a change of is told: for people, not the nodes, which have lines of
// their own.
func (w *maintenanceWatch) told(r maintenanceRow) maintenanceRow {
	if w.format == jsonText {
		return r
	}
	return maintenanceRow{Stage: r.Stage, State: r.State, Message: r.Message, Nodes: r.Nodes}
}

// maintenanceChange is how a maintenance is after a change, for programs.
type maintenanceChange struct {
	Time metav1.MicroTime `json:"time"`
	maintenanceRow
}

func (w *maintenanceWatch) entry(r maintenanceRow, now time.Time) string {
	if w.format != jsonText {
		return maintenanceLine(r, now)
	}
	text, err := json.Marshal(maintenanceChange{metav1.NewMicroTime(now), r})
	if err != nil {
		return ""
	}
	return string(text) + "\n"
}

// maintenanceLine is one maintenance, where nothing can be redrawn.
func maintenanceLine(r maintenanceRow, now time.Time) string {
	parts := []string{now.UTC().Format(time.TimeOnly), r.Name, r.State}
	if r.Nodes.Selected > 0 {
		parts = append(parts, r.counted())
	}
	if says := r.says(); says != "" {
		parts = append(parts, says)
	}
	return show.Clean(strings.Join(parts, "  ")) + "\n"
}

// nodeNews are the nodes that are otherwise than before. What has not begun is not told.
func (w *maintenanceWatch) nodeNews(name string, nodes map[string]string, now time.Time) string {
	var text strings.Builder
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		before, known := w.phases[node]
		if nodes[node] == before || !known && nodes[node] == markOf(slipwayv1alpha1.NodeWaiting).word {
			continue
		}
		text.WriteString(show.Clean(strings.Join([]string{now.UTC().Format(time.TimeOnly), name, node, nodes[node]}, "  ")) + "\n")
	}
	w.phases = nodes
	return text.String()
}

// phases are where the nodes are, in words, by their names.
func (r *maintenanceRow) phases() map[string]string {
	all := map[string]string{}
	for _, d := range r.Domains {
		for _, n := range d.Nodes {
			all[n.Name] = markOf(n.Phase).word
		}
	}
	for _, n := range r.NodeStatuses {
		all[n.Name] = markOf(n.Phase).word
		if n.Reason != "" {
			all[n.Name] += ": " + whyOf(n)
		}
	}
	return all
}
