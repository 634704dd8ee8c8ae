// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// goalOf returns the goal of a maintenance in its stage. Nil means that the stage has no end.
func goalOf(m *slipwayv1alpha1.NodeMaintenance) func(*maintenanceRow) bool {
	together := m.Spec.Rollout == nil
	switch {
	case m.Spec.Stage == slipwayv1alpha1.StageComplete:
		return (*maintenanceRow).over
	case m.Spec.Stage != slipwayv1alpha1.StageDrain:
		return nil
	case together:
		return func(r *maintenanceRow) bool { return r.State == maintenanceDrained || r.ended() }
	default:
		return (*maintenanceRow).ended
	}
}

// dead are the reasons for which a maintenance stands still until a person changes something.
var dead = []string{slipwayv1alpha1.ReasonFailureThreshold, slipwayv1alpha1.ReasonIncomplete, slipwayv1alpha1.ReasonWindowOver}

// ended says that nothing moves any more until a person acts, which is no stage's goal.
func (r *maintenanceRow) ended() bool {
	return r.over() || r.State == maintenanceRefused || r.stands && slices.Contains(dead, r.Code) && !r.inMotion()
}

// followMaintenance shows a maintenance until the goal, and reports how it has ended.
func followMaintenance(ctx context.Context, t *cli.Tool, c cli.Cluster, m *slipwayv1alpha1.NodeMaintenance, f *cli.Waiting, goal func(*maintenanceRow) bool) error {
	ctx, stop := cli.Within(ctx, f.Timeout)
	defer stop()
	if f.Format == cli.Name {
		t.Sayf("%s\n", cli.MaintenanceName(m.Name))
	}
	w := newWatcher(t, c, f.Format, m.Name)
	w.followed, w.over = m.UID, goal
	row, err := w.run(ctx, m)
	switch {
	case errors.Is(err, errGone):
		return cli.Exitf(cli.Canceled, "NodeMaintenance %s: %w, which ends it; 'kubectl slipway status' shows the nodes that are out", m.Name, err)
	case err != nil && cli.IsOver(ctx):
		sayHow(t, "Timed out. It goes on in the cluster.", m.Name)
		return cli.ExitError{Code: cli.TimedOut}
	case err != nil && ctx.Err() != nil:
		w.Clear()
		sayHow(t, "Stopped watching. It goes on in the cluster.", m.Name)
		return err
	case err != nil:
		return err
	}
	code, text := endOfMaintenance(row)
	if m.Spec.Stage == slipwayv1alpha1.StageComplete {
		code, text = endOfReturn(row)
	}
	if code != cli.Done {
		sayFailed(t, row)
		return cli.ExitError{Code: code, Err: errors.New(text)}
	}
	if f.Format == cli.Human {
		t.Sayf("%s", text+"\n")
	}
	return nil
}

// endOfMaintenance returns the exit code of a maintenance that has ended or stands still, and its text.
func endOfMaintenance(r *maintenanceRow) (code int, text string) {
	name, says := ui.Clean(r.Name), ui.Clean(r.says())
	object := "NodeMaintenance " + name
	counted := r.counted()
	switch {
	case r.State == maintenanceCompleted:
		return cli.Done, cli.MaintenanceName(name) + " completed, " + counted
	case r.State == maintenanceDrained:
		return cli.Done, fmt.Sprintf("%s drained, %s; 'kubectl slipway maintenance stage %s complete' returns them", cli.MaintenanceName(name), counted, name)
	case r.State == maintenanceRefused:
		return cli.Error, fmt.Sprintf("%s was refused (%s): %s", object, r.Code, says)
	case r.Nodes.Failed > 0 && r.over():
		return cli.Failed, fmt.Sprintf("%s has ended, and nodes have failed: %s", object, counted)
	case r.over():
		return cli.Canceled, fmt.Sprintf("%s was ended before all nodes were done: %s", object, counted)
	case r.Code == slipwayv1alpha1.ReasonWindowOver:
		return cli.Failed, fmt.Sprintf("%s is not done, and its window is over: %s; spec.window.deadline can be set later, and "+
			"'kubectl slipway maintenance abort %s' ends it", object, counted, name)
	default:
		return cli.Failed, fmt.Sprintf("%s stands still, as nodes have failed: %s; 'kubectl slipway maintenance retry %s' tries them again, "+
			"'kubectl slipway maintenance abort %s' ends it", object, counted, name, name)
	}
}

// endOfReturn is [endOfMaintenance] for one that was ended: nodes that have failed on their way
// are back as well, except those whose return failed.
func endOfReturn(r *maintenanceRow) (code int, text string) {
	name := ui.Clean(r.Name)
	back := func(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
		return n.Phase == slipwayv1alpha1.NodeFailed && n.Reason == slipwayv1alpha1.ReasonReturnFailed
	}
	if slices.ContainsFunc(r.NodeStatuses, back) {
		return cli.Failed, fmt.Sprintf("NodeMaintenance %s has ended, and not all nodes could be returned: %s", name, r.counted())
	}
	return cli.Done, cli.MaintenanceName(name) + " has ended, " + r.counted()
}

// sayFailed names the failed nodes, with the reasons.
func sayFailed(t *cli.Tool, r *maintenanceRow) {
	for _, n := range r.NodeStatuses {
		if n.Phase == slipwayv1alpha1.NodeFailed {
			t.Notef("node %s has failed: %s", ui.Clean(n.Name), ui.Clean(cli.OrDash(whyOf(n))))
		}
	}
}

// sayHow says how to look at a maintenance, and how to end it.
func sayHow(t *cli.Tool, what, name string) {
	t.Notef("%s\n  kubectl slipway maintenance status -w %s   shows it\n  kubectl slipway maintenance abort %s       ends it, and returns its nodes",
		what, name, name)
}
