// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// goalOf is what somebody waits for who has asked for a maintenance, or has moved its stage.
// Nil: nothing ends by itself.
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

// dead are the reasons for which a maintenance stands still until somebody changes something.
var dead = []string{slipwayv1alpha1.ReasonFailureThreshold, slipwayv1alpha1.ReasonIncomplete, slipwayv1alpha1.ReasonWindowOver}

// ended says that nothing moves any more before somebody does something about it, and that
// this was not asked for.
func (r *maintenanceRow) ended() bool {
	return r.over() || r.State == maintenanceRefused || r.stands && slices.Contains(dead, r.Code) && !r.inMotion()
}

// followMaintenance shows a maintenance until the goal, and says how it has ended.
func (t *tool) followMaintenance(ctx context.Context, c cluster, m *slipwayv1alpha1.NodeMaintenance, f format, goal func(*maintenanceRow) bool,
	timeout time.Duration,
) error {
	if timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer stop()
	}
	if f == names {
		t.say(maintenanceName(m.Name) + "\n")
	}
	w := &maintenanceWatch{tool: t, cluster: c, format: f, only: m.Name, followed: m.UID, over: goal}
	row, err := w.run(ctx, m)
	switch {
	case errors.Is(err, errGone):
		return exit{Canceled, fmt.Errorf("NodeMaintenance %s: %w, which ends it; 'kubectl slipway status' shows the nodes that are out", m.Name, err)}
	case errors.Is(context.Cause(ctx), errTimeout) && err != nil:
		t.sayHowMaintenance("The time to wait is over. It goes on in the cluster.", m.Name)
		return exit{code: Blocked}
	case err != nil && ctx.Err() != nil:
		w.drawn.Clear(t.Out)
		t.sayHowMaintenance("Stopped watching. It goes on in the cluster.", m.Name)
		return err
	case err != nil:
		return err
	}
	code, text := endOfMaintenance(row)
	if m.Spec.Stage == slipwayv1alpha1.StageComplete {
		code, text = endOfReturn(row)
	}
	if code != Done {
		t.sayFailed(row)
		return exit{code, errors.New(text)}
	}
	if f == people {
		t.say(text + "\n")
	}
	return nil
}

// endOfMaintenance is how a maintenance has ended, or where it stands, with its exit code.
func endOfMaintenance(r *maintenanceRow) (code int, text string) {
	name, says := ui.Clean(r.Name), ui.Clean(r.says())
	object := "NodeMaintenance " + name
	counted := r.counted()
	switch {
	case r.State == maintenanceCompleted:
		return Done, maintenanceName(name) + " completed, " + counted
	case r.State == maintenanceDrained:
		return Done, fmt.Sprintf("%s drained, %s; 'kubectl slipway maintenance stage %s complete' returns them", maintenanceName(name), counted, name)
	case r.State == maintenanceRefused:
		return Error, fmt.Sprintf("%s is not carried out (%s): %s", object, r.Code, says)
	case r.Nodes.Failed > 0 && r.over():
		return Failed, fmt.Sprintf("%s has ended, and nodes have failed: %s", object, counted)
	case r.over():
		return Canceled, fmt.Sprintf("%s has ended before all nodes were done: %s", object, counted)
	case r.Code == slipwayv1alpha1.ReasonWindowOver:
		return Failed, fmt.Sprintf("%s is not done, and its window is over: %s; spec.window.deadline can be set later, and "+
			"'kubectl slipway maintenance abort %s' ends it", object, counted, name)
	default:
		return Failed, fmt.Sprintf("%s stands still, as nodes have failed: %s; 'kubectl slipway maintenance retry %s' tries them again, "+
			"'kubectl slipway maintenance abort %s' ends it", object, counted, name, name)
	}
}

// endOfReturn is how a maintenance has ended that was to: nodes that have failed on their way
// are back as well, but for those whose return failed.
func endOfReturn(r *maintenanceRow) (code int, text string) {
	name := ui.Clean(r.Name)
	back := func(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
		return n.Phase == slipwayv1alpha1.NodeFailed && n.Reason == slipwayv1alpha1.ReasonReturnFailed
	}
	if slices.ContainsFunc(r.NodeStatuses, back) {
		return Failed, fmt.Sprintf("NodeMaintenance %s has ended, and not all nodes could be returned: %s", name, r.counted())
	}
	return Done, maintenanceName(name) + " has ended, " + r.counted()
}

// sayFailed names the nodes that have failed, and why.
func (t *tool) sayFailed(r *maintenanceRow) {
	for _, n := range r.NodeStatuses {
		if n.Phase == slipwayv1alpha1.NodeFailed {
			fmt.Fprintf(t.ErrOut, "node %s has failed: %s\n", ui.Clean(n.Name), ui.Clean(orDash(whyOf(n))))
		}
	}
}

// sayHowMaintenance says how to look at what goes on, and how to end it.
func (t *tool) sayHowMaintenance(what, name string) {
	fmt.Fprintf(t.ErrOut, "%s\n  kubectl slipway maintenance status -w %s   shows it\n  kubectl slipway maintenance abort %s       ends it, and returns its nodes\n",
		what, name, name)
}
