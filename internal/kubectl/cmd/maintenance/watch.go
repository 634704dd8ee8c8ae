// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// watcher shows maintenances at each change.
type watcher struct {
	cli.Live
	cluster cli.Cluster
	// only names the maintenance that is shown with its nodes; empty: all. followed is its UID, which
	// distinguishes it from a later one of that name.
	only     string
	followed types.UID
	// goal ends the watch. Nil: the watch has no end.
	goal func(*maintenanceRow) bool

	nodesUnread bool
	news        cli.News[maintenanceRow]
	phases      map[string]string // the last reported phases, by node
}

func newWatcher(t *cli.Tool, c cli.Cluster, f cli.Format, only string) *watcher {
	w := &watcher{Live: cli.Live{Tool: t, Format: f}, cluster: c, only: only}
	w.news = cli.News[maintenanceRow]{Key: func(r *maintenanceRow) string { return r.Name }, Part: w.compared}
	return w
}

// errGone means that a user has deleted the followed maintenance.
var errGone = errors.New("it was deleted")

// run watches until ctx ends or the goal is reached, and returns the last row.
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

// Show shows the maintenances, and reports whether the goal is reached.
func (w *watcher) Show(_ context.Context, now time.Time) (over bool, err error) {
	rows := w.rows()
	w.Update(w.picture(rows, now))
	switch last := w.last(rows); {
	case w.goal == nil:
		return false, nil
	case last == nil:
		err = errGone
	case last.Outdated || !w.goal(last):
		return false, nil
	}
	w.Clear()
	return true, err
}

// last returns the row of the only maintenance, or nil.
func (w *watcher) last(rows []maintenanceRow) *maintenanceRow {
	if w.only == "" || len(rows) == 0 {
		return nil
	}
	return &rows[0]
}

func (w *watcher) rows() []maintenanceRow {
	all := follow.Stored[*slipwayv1alpha1.NodeMaintenance](&w.Store)
	if w.only == "" {
		return maintenanceRows(all)
	}
	for _, m := range all {
		if m.Name != w.only || w.followed != "" && m.UID != w.followed {
			continue
		}
		row := rowOfMaintenance(m)
		if !w.nodesUnread {
			row.addNodes(follow.Stored[*corev1.Node](&w.Store), follow.Stored[*lifecyclev1alpha1.LifecycleEvent](&w.Store))
		}
		return []maintenanceRow{row}
	}
	return nil
}

func (w *watcher) picture(rows []maintenanceRow, now time.Time) cli.Picture {
	return cli.Picture{
		Text: func(style ui.Style) string {
			switch {
			case w.only == "":
				return maintenanceTable(rows, style, now, w.Format == cli.Wide)
			case len(rows) == 0:
				return "NodeMaintenance " + ui.Clean(w.only) + " does not exist.\n"
			default:
				return maintenanceText(&rows[0], style, now, w.Format == cli.Wide)
			}
		},
		News: func() string { return w.changes(rows, now) },
	}
}

// changes returns a line or a JSON object for each changed maintenance, and lines for the nodes of the
// only one.
func (w *watcher) changes(rows []maintenanceRow, now time.Time) string {
	bare := slices.Clone(rows)
	for i := range bare {
		bare[i].Domains, bare[i].of = nil, nil // too long for a change
	}
	changed, gone := w.news.Next(bare)
	text := ""
	for _, r := range changed {
		text += w.entry(r, now)
	}
	for _, r := range rows {
		if w.only != "" && w.Format != cli.JSON {
			text += w.nodeChanges(r.Name, r.phases(), now)
		}
	}
	for _, r := range gone {
		text += w.entry(maintenanceRow{Name: r.Name, UID: r.UID, State: state.Gone}, now)
	}
	return text
}

// compared returns the part of a row whose changes are reported. As text, each node has a separate
// line.
func (w *watcher) compared(r maintenanceRow) any {
	if w.Format == cli.JSON {
		return r
	}
	return maintenanceRow{Stage: r.Stage, State: r.State, Message: r.Message, Nodes: r.Nodes}
}

// maintenanceChange is the state of a maintenance after a change, as JSON.
type maintenanceChange struct {
	Time metav1.MicroTime `json:"time"`
	maintenanceRow
}

func (w *watcher) entry(r maintenanceRow, now time.Time) string {
	if w.Format == cli.JSON {
		return cli.Line(maintenanceChange{metav1.NewMicroTime(now), r})
	}
	counted := ""
	if r.Nodes.Selected > 0 {
		counted = r.counted()
	}
	return cli.ChangeLine(now, r.Name, string(r.State), counted, r.says())
}

// nodeChanges returns the changed nodes, without nodes that have not begun.
func (w *watcher) nodeChanges(name string, nodes map[string]string, now time.Time) (text string) {
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		before, known := w.phases[node]
		if nodes[node] != before && (known || nodes[node] != markOf(slipwayv1alpha1.NodeWaiting).word) {
			text += cli.ChangeLine(now, name, node, nodes[node])
		}
	}
	w.phases = nodes
	return text
}

// phases describes the phase of each node.
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

// goalOf returns the goal of a maintenance in its stage. Nil: the stage has no end.
func goalOf(m *slipwayv1alpha1.NodeMaintenance) func(*maintenanceRow) bool {
	switch {
	case m.Spec.Stage == slipwayv1alpha1.StageComplete:
		return (*maintenanceRow).over
	case m.Spec.Stage != slipwayv1alpha1.StageDrain:
		return nil
	default:
		return func(r *maintenanceRow) bool { return m.Spec.Rollout == nil && r.State == state.Drained || r.ended() }
	}
}

// followMaintenance shows a maintenance until the goal, and reports its end.
func followMaintenance(ctx context.Context, t *cli.Tool, c cli.Cluster, m *slipwayv1alpha1.NodeMaintenance, f *cli.Waiting, goal func(*maintenanceRow) bool) error {
	ctx, stop := cli.Within(ctx, f.Timeout)
	defer stop()
	if f.Format == cli.Name {
		t.Sayf("%s\n", cli.MaintenanceName(m.Name))
	}
	w := newWatcher(t, c, f.Format, m.Name)
	w.followed, w.goal = m.UID, goal
	row, err := w.run(ctx, m)
	switch {
	case errors.Is(err, errGone):
		return cli.Exitf(cli.Canceled, "NodeMaintenance %s: %w, which ends it; 'kubectl slipway status' shows the nodes that are out of service", m.Name, err)
	case err != nil && cli.IsOver(ctx):
		sayHow(t, "Timed out. It continues in the cluster.", m.Name)
		return cli.ExitError{Code: cli.TimedOut}
	case err != nil && ctx.Err() != nil:
		w.Clear()
		sayHow(t, "Stopped watching. It continues in the cluster.", m.Name)
		return err
	case err != nil:
		return err
	}
	code, text := endOf(row, m.Spec.Stage == slipwayv1alpha1.StageComplete)
	if code != cli.Done {
		sayFailed(t, row)
		return cli.ExitError{Code: code, Err: errors.New(text)}
	}
	if f.Format == cli.Human {
		t.Sayf("%s\n", text)
	}
	return nil
}

// endOf returns the exit code and the text for a maintenance that has ended or stands still. If the
// caller has returned the nodes, only nodes whose return failed count as failed.
func endOf(r *maintenanceRow, returning bool) (code int, text string) {
	name := ui.Clean(r.Name)
	object, counted := "NodeMaintenance "+name, r.counted()
	unreturned := func(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
		return n.Phase == slipwayv1alpha1.NodeFailed && n.Reason == slipwayv1alpha1.ReasonReturnFailed
	}
	switch {
	case returning && slices.ContainsFunc(r.NodeStatuses, unreturned):
		return cli.Failed, fmt.Sprintf("%s has ended, and some nodes have not returned: %s", object, counted)
	case returning:
		return cli.Done, cli.MaintenanceName(name) + " has ended, " + counted
	case r.State == completed:
		return cli.Done, cli.MaintenanceName(name) + " completed, " + counted
	case r.State == state.Drained:
		return cli.Done, fmt.Sprintf("%s drained, %s; 'kubectl slipway maintenance stage %s complete' returns them", cli.MaintenanceName(name), counted, name)
	case r.State == refused:
		return cli.Error, fmt.Sprintf("%s was refused (%s): %s", object, r.Code, ui.Clean(r.says()))
	case r.Nodes.Failed > 0 && r.over():
		return cli.Failed, fmt.Sprintf("%s has ended, and nodes have failed: %s", object, counted)
	case r.over():
		return cli.Canceled, fmt.Sprintf("%s has ended early: %s", object, counted)
	case r.Code == slipwayv1alpha1.ReasonWindowOver:
		return cli.Failed, fmt.Sprintf("%s is not complete, and its window is over: %s; set a later spec.window.deadline, or run "+
			"'kubectl slipway maintenance abort %s'", object, counted, name)
	default:
		return cli.Failed, fmt.Sprintf("%s stands still, as nodes have failed: %s; 'kubectl slipway maintenance retry %s' tries them again, "+
			"'kubectl slipway maintenance abort %s' ends it", object, counted, name, name)
	}
}

// sayFailed lists the failed nodes, with the reasons.
func sayFailed(t *cli.Tool, r *maintenanceRow) {
	for _, n := range r.NodeStatuses {
		if n.Phase == slipwayv1alpha1.NodeFailed {
			t.Notef("node %s has failed: %s", ui.Clean(n.Name), ui.Clean(cli.OrDash(whyOf(n))))
		}
	}
}

// sayHow adds the commands that show and end a maintenance.
func sayHow(t *cli.Tool, what, name string) {
	t.Notef("%s\n  kubectl slipway maintenance status -w %s   shows it\n  kubectl slipway maintenance abort %s       ends it, and returns its nodes",
		what, name, name)
}
