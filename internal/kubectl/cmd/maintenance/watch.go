// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// watcher shows maintenances again and again.
type watcher struct {
	cli.Live
	cluster cli.Cluster
	// only is the one that is shown with its nodes; followed is its UID, so that another one of
	// that name is not taken for it. Empty: all of them.
	only     string
	followed types.UID
	// over says whether the goal is reached, or cannot be reached. Nil means never.
	over func(*maintenanceRow) bool

	nodesUnread bool
	news        cli.News[maintenanceRow]
	phases      map[string]string // of the nodes of the only one, as reported last
}

func newWatcher(t *cli.Tool, c cli.Cluster, f cli.Format, only string) *watcher {
	w := &watcher{Live: cli.Live{Tool: t, Format: f}, cluster: c, only: only}
	w.news = cli.News[maintenanceRow]{Key: func(r *maintenanceRow) string { return r.Name }, Says: w.reported}
	return w
}

// errGone means that the followed maintenance was deleted.
var errGone = errors.New("it was deleted")

// run goes on until ctx ends, or the goal is reached: then it returns the last row.
func (w *watcher) run(ctx context.Context, begun ...*slipwayv1alpha1.NodeMaintenance) (*maintenanceRow, error) {
	for _, m := range begun { // a list may be older
		w.Saw(m, w.Clock.Now())
	}
	watching := false
	err := w.cluster.Watched().ToEnd(ctx, w.Clock, follow.Scope{Nodes: true, Maintenances: true}, w, func(_ context.Context, seen follow.Scope) error {
		watching = true
		if w.nodesUnread = !seen.Nodes; w.nodesUnread && w.only != "" {
			w.Notef("You may not list Nodes, so %s.", nodesUnread)
		}
		return nil
	})
	if err != nil && !watching {
		return nil, cli.MaintenanceTrouble("watch NodeMaintenances", err)
	}
	return w.last(w.rows()), err
}

// Show shows the maintenances, and says whether the goal is reached.
func (w *watcher) Show(_ context.Context, now time.Time) (over bool, err error) {
	rows := w.rows()
	w.Update(w.picture(rows, now))
	switch last := w.last(rows); {
	case w.over == nil:
		return false, nil
	case last == nil:
		err = errGone
	case last.Outdated || !w.over(last):
		return false, nil
	}
	w.Clear()
	return true, err
}

// last returns the row of the only one, or nil.
func (w *watcher) last(rows []maintenanceRow) *maintenanceRow {
	if w.only == "" || len(rows) == 0 {
		return nil
	}
	return &rows[0]
}

// rows returns the rows to show.
func (w *watcher) rows() []maintenanceRow {
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

func (w *watcher) picture(rows []maintenanceRow, now time.Time) cli.Picture {
	return cli.Picture{
		Text: func(style ui.Style) string { return w.text(rows, style, now) },
		News: func() string { return w.changes(rows, now) },
	}
}

func (w *watcher) text(rows []maintenanceRow, style ui.Style, now time.Time) string {
	switch {
	case len(rows) == 0 && w.only != "":
		return "NodeMaintenance " + ui.Clean(w.only) + " does not exist.\n"
	case len(rows) == 0:
		return noMaintenances
	case w.only != "":
		return maintenanceText(&rows[0], style, now, w.Format == cli.Wide)
	default:
		return maintenanceTable(rows, style, now, w.Format == cli.Wide)
	}
}

// changes are the maintenances that have changed, one line or JSON object each, and the nodes of
// the only one.
func (w *watcher) changes(rows []maintenanceRow, now time.Time) string {
	var text strings.Builder
	var bare []maintenanceRow
	for _, r := range rows {
		r.Domains, r.of = nil, nil // too much for programs
		bare = append(bare, r)
	}
	changed, gone := w.news.Of(bare)
	for _, r := range changed {
		text.WriteString(w.entry(r, now))
	}
	for _, r := range rows {
		if w.only != "" && w.Format != cli.JSON {
			text.WriteString(w.nodeChanges(r.Name, r.phases(), now))
		}
	}
	for _, r := range gone {
		text.WriteString(w.entry(maintenanceRow{Name: r.Name, UID: r.UID, State: "gone"}, now))
	}
	return text.String()
}

// reported is the part of a row whose changes are reported: for people without the nodes, which
// have lines of their own.
func (w *watcher) reported(r maintenanceRow) any {
	if w.Format == cli.JSON {
		return r
	}
	return maintenanceRow{Stage: r.Stage, State: r.State, Message: r.Message, Nodes: r.Nodes}
}

// maintenanceChange is the state of a maintenance after a change, for programs.
type maintenanceChange struct {
	Time metav1.MicroTime `json:"time"`
	maintenanceRow
}

func (w *watcher) entry(r maintenanceRow, now time.Time) string {
	if w.Format == cli.JSON {
		return cli.Line(maintenanceChange{metav1.NewMicroTime(now), r})
	}
	parts := []string{now.UTC().Format(time.TimeOnly), r.Name, r.State}
	if r.Nodes.Selected > 0 {
		parts = append(parts, r.counted())
	}
	if says := r.says(); says != "" {
		parts = append(parts, says)
	}
	return ui.Clean(strings.Join(parts, "  ")) + "\n"
}

// nodeChanges are the nodes that have changed. Nodes that have not begun are left out.
func (w *watcher) nodeChanges(name string, nodes map[string]string, now time.Time) string {
	var text strings.Builder
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		before, known := w.phases[node]
		if nodes[node] == before || !known && nodes[node] == markOf(slipwayv1alpha1.NodeWaiting).word {
			continue
		}
		text.WriteString(ui.Clean(strings.Join([]string{now.UTC().Format(time.TimeOnly), name, node, nodes[node]}, "  ")) + "\n")
	}
	w.phases = nodes
	return text.String()
}

// phases returns the phases of the nodes in words, by node.
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
