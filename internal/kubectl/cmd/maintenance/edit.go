// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// edit changes a maintenance, and reports whether that made a difference.
type edit func(*slipwayv1alpha1.NodeMaintenance) (changed bool, err error)

// change reads a maintenance, edits it, and writes it. After a conflict, it starts again.
func change(ctx context.Context, c client.Client, name string, f edit) (m *slipwayv1alpha1.NodeMaintenance, changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		if m, err = cli.GetMaintenance(ctx, c, name); err != nil {
			return err
		}
		before := m.DeepCopy()
		if changed, err = f(m); err != nil || !changed {
			return err
		}
		if err = c.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("change NodeMaintenance %s: %w", name, err)
		}
		return nil
	})
	return m, changed, err
}

// editing lets a command edit a maintenance, and print the text of the result.
func editing(t *cli.Tool, command *cobra.Command, f edit, text func(m *slipwayv1alpha1.NodeMaintenance, changed bool) string) *cobra.Command {
	return t.ForMaintenance(command, cobra.ExactArgs(1), func(ctx context.Context, name string, _ []string) error {
		_, client, err := t.Open(ctx)
		if err != nil {
			return err
		}
		m, changed, err := change(ctx, client, name, f)
		if err != nil {
			return err
		}
		t.Sayf("%s", text(m, changed))
		return nil
	}, nil)
}

// checkNotOver returns an error for a maintenance that has ended.
func checkNotOver(m *slipwayv1alpha1.NodeMaintenance) error {
	if row := rowOfMaintenance(m); row.over() {
		return fmt.Errorf("NodeMaintenance %s has %s: no step is left", row.Name, row.State)
	}
	return nil
}

func newPause(t *cli.Tool) *cobra.Command {
	return editing(t, &cobra.Command{
		Use:   "pause NAME",
		Short: "Start no other nodes and no other steps",
		Long: `Sets spec.paused. The maintenance starts no node, and no next step of a node: a drained node
stays drained. Drains and Jobs that have begun continue.`,
		Example: `  kubectl slipway maintenance pause rack-upgrade`,
	}, paused, func(m *slipwayv1alpha1.NodeMaintenance, changed bool) string {
		if !changed {
			return cli.MaintenanceName(m.Name) + " is paused already\n"
		}
		return fmt.Sprintf("%s paused; steps that have begun continue on %s\n", cli.MaintenanceName(m.Name), ui.Count(int(m.Status.Nodes.Out), "node", "nodes"))
	})
}

func paused(m *slipwayv1alpha1.NodeMaintenance) (changed bool, err error) {
	if err := checkNotOver(m); err != nil {
		return false, err
	}
	changed = !m.Spec.Paused
	m.Spec.Paused = true
	return changed, nil
}

func newResume(t *cli.Tool) *cobra.Command {
	var after int32
	command := editing(t, &cobra.Command{
		Use:   "resume NAME",
		Short: "Continue a paused maintenance, also after its --pause-after",
		Long: `Unsets spec.paused. If spec.rollout.pauseAfter has paused the maintenance, the command removes that
limit; with --pause-after, it sets a later one.`,
		Example: `  kubectl slipway maintenance resume rack-upgrade

  # Do ten more nodes, and pause again
  kubectl slipway maintenance resume rack-upgrade --pause-after 10`,
	}, func(m *slipwayv1alpha1.NodeMaintenance) (bool, error) { return resumed(m, after) }, func(m *slipwayv1alpha1.NodeMaintenance, changed bool) string {
		name := cli.MaintenanceName(m.Name)
		switch {
		case !changed:
			return name + " is not paused\n"
		case m.Spec.Rollout != nil && m.Spec.Rollout.PauseAfter != nil:
			return fmt.Sprintf("%s resumed, until %d nodes have returned\n", name, *m.Spec.Rollout.PauseAfter)
		default:
			return name + " resumed\n"
		}
	})
	command.Flags().Func("pause-after", "pause again when this many more nodes have returned", func(text string) (err error) {
		after, err = parseNumber(text)
		return err
	})
	return command
}

// resumed resumes a maintenance, for this many more nodes, or to its end.
func resumed(m *slipwayv1alpha1.NodeMaintenance, after int32) (changed bool, err error) {
	if err := checkNotOver(m); err != nil {
		return false, err
	}
	changed = m.Spec.Paused
	m.Spec.Paused = false
	rollout := m.Spec.Rollout
	switch {
	case rollout == nil && after > 0:
		return false, cli.Usagef("--pause-after: NodeMaintenance %s has no rollout: it takes all its nodes together", m.Name)
	case after > 0:
		limit := m.Status.Nodes.Returned + after
		changed = changed || rollout.PauseAfter == nil || *rollout.PauseAfter != limit
		rollout.PauseAfter = &limit
	case rollout != nil && rollout.PauseAfter != nil && pausedAfter(m):
		rollout.PauseAfter, changed = nil, true
	}
	return changed, nil
}

// pausedAfter reports whether the maintenance has reached its pauseAfter. The counts alone do not show it: a
// node that has just started is still among the waiting nodes. The condition alone does not show it either:
// it has the reason of another obstacle, for example of pending pods.
func pausedAfter(m *slipwayv1alpha1.NodeMaintenance) bool {
	progress := apimeta.FindStatusCondition(m.Status.Conditions, slipwayv1alpha1.MaintenanceProgressing)
	if progress != nil && progress.Reason == slipwayv1alpha1.ReasonPauseAfter {
		return true
	}
	return m.Status.Nodes.Returned+m.Status.Nodes.Out >= *m.Spec.Rollout.PauseAfter
}

func newRetry(t *cli.Tool) *cobra.Command {
	var nodes retriedNodes
	return editing(t, &cobra.Command{
		Use:   "retry NAME",
		Short: "Try failed nodes again, and nodes whose drains wait for each other",
		Long: `Raises spec.retry. A failed node whose drain still exists continues with it; any other failed node
starts again with its drain when the rollout reaches it. Nodes in a deadlock of drains (reason
Deadlock) give way to each other again: add capacity first, or relax the PodDisruptionBudgets that
the status lists.`,
		Example: `  # See the reasons first
  kubectl slipway maintenance status rack-upgrade
  kubectl slipway maintenance retry rack-upgrade`,
	}, func(m *slipwayv1alpha1.NodeMaintenance) (changed bool, err error) {
		nodes, changed, err = retried(m)
		return changed, err
	}, func(m *slipwayv1alpha1.NodeMaintenance, changed bool) string {
		if !changed {
			return cli.MaintenanceName(m.Name) + " has no failed nodes, and no nodes in a deadlock\n"
		}
		return nodes.text(int(m.Status.Nodes.Failed))
	})
}

// retriedNodes are the failed nodes, and the nodes in a deadlock.
type retriedNodes struct {
	failed, stuck []slipwayv1alpha1.MaintenanceNodeStatus
}

func (r retriedNodes) text(allFailed int) string {
	var text strings.Builder
	for _, n := range r.failed {
		fmt.Fprintf(&text, "node/%s is tried again, after %s\n", ui.Clean(n.Name), ui.Clean(cli.OrDash(whyOf(n))))
	}
	if more := allFailed - len(r.failed); more > 0 {
		fmt.Fprintf(&text, "and %s\n", ui.Count(more, "more node", "more nodes"))
	}
	for _, n := range r.stuck {
		fmt.Fprintf(&text, "node/%s may give way again to the nodes whose drains wait for its own\n", ui.Clean(n.Name))
	}
	return text.String()
}

// retried tries the failed nodes again. In a rollout, nodes in a deadlock give way again, too.
func retried(m *slipwayv1alpha1.NodeMaintenance) (nodes retriedNodes, changed bool, err error) {
	row := rowOfMaintenance(m)
	if row.over() || row.Stage == slipwayv1alpha1.StageComplete {
		return nodes, false, fmt.Errorf("NodeMaintenance %s is complete, and starts no other node: maintain the nodes under another name", m.Name)
	}
	for _, n := range m.Status.NodeStatuses {
		switch {
		case n.Phase == slipwayv1alpha1.NodeFailed:
			nodes.failed = append(nodes.failed, n)
		case n.Reason == slipwayv1alpha1.ReasonDeadlock && m.Spec.Rollout != nil:
			nodes.stuck = append(nodes.stuck, n)
		}
	}
	if len(nodes.failed)+len(nodes.stuck)+int(m.Status.Nodes.Failed) == 0 {
		return nodes, false, nil
	}
	m.Spec.Retry++
	return nodes, true, nil
}

// stages are in the order of a maintenance.
var stages = []slipwayv1alpha1.MaintenanceStage{
	slipwayv1alpha1.StageIdle, slipwayv1alpha1.StageCordon, slipwayv1alpha1.StageDrain, slipwayv1alpha1.StageComplete,
}

func newStage(t *cli.Tool) *cobra.Command {
	w := &cli.Waiting{}
	command := t.ForMaintenance(&cobra.Command{
		Use:   "stage NAME cordon|drain|complete",
		Short: "Move a maintenance to its next stage",
		Long: `Sets spec.stage, and follows the maintenance. A stage never returns to an earlier one. Without a
rollout, the stages apply to all nodes at the same time. With a rollout, drain starts it, and complete
ends it early, like 'maintenance abort', but without a question.`,
		Example: `  kubectl slipway maintenance stage rack-7 drain
  kubectl slipway maintenance stage rack-7 complete --wait=false`,
	}, cobra.ExactArgs(2), func(ctx context.Context, name string, args []string) error {
		i := slices.IndexFunc(stages, func(s slipwayv1alpha1.MaintenanceStage) bool { return strings.EqualFold(string(s), args[0]) })
		if i < 0 {
			return cli.Usagef("there is no stage %q; there are cordon, drain and complete", args[0])
		}
		return setStage(ctx, t, name, stages[i], w)
	}, func(*slipwayv1alpha1.NodeMaintenance, []string) []string {
		return []string{"cordon", "drain", "complete"}
	})
	w.AddWaiting(command, "follow it until the nodes are drained, or have returned")
	w.Output = cli.AddOutput(command.Flags(), cli.JSON, cli.YAML, cli.Name)
	return command
}

func setStage(ctx context.Context, t *cli.Tool, name string, stage slipwayv1alpha1.MaintenanceStage, w *cli.Waiting) error {
	if err := w.Check(); err != nil {
		return err
	}
	c, client, err := t.Open(ctx)
	if err != nil {
		return err
	}
	m, changed, err := change(ctx, client, name, func(m *slipwayv1alpha1.NodeMaintenance) (bool, error) { return staged(m, stage) })
	if err != nil {
		return err
	}
	if !changed {
		t.Notef("NodeMaintenance %s is in stage %s already.", name, stage)
	}
	if goal := goalOf(m); w.Wait && goal != nil {
		return followMaintenance(ctx, t, c, m, w, goal)
	}
	return t.Print(w.Output, cli.View{Value: rowOfMaintenance(m), Names: []string{cli.MaintenanceName(m.Name)}, Text: func(ui.Style, bool) string {
		return fmt.Sprintf("%s in stage %s\n", cli.MaintenanceName(m.Name), stage)
	}})
}

// staged moves a maintenance to a stage.
func staged(m *slipwayv1alpha1.NodeMaintenance, stage slipwayv1alpha1.MaintenanceStage) (changed bool, err error) {
	row := rowOfMaintenance(m)
	switch is, to := slices.Index(stages, row.Stage), slices.Index(stages, stage); {
	case to < is:
		return false, fmt.Errorf("NodeMaintenance %s is in stage %s, and cannot return to stage %s; create another one for its nodes", m.Name, row.Stage, stage)
	case to == is:
		return false, nil
	}
	m.Spec.Stage = stage
	return true, nil
}

func newAbort(t *cli.Tool) *cobra.Command {
	w := &cli.Waiting{}
	var yes bool
	command := t.ForMaintenance(&cobra.Command{
		Use:   "abort NAME",
		Short: "End a maintenance early, and return its nodes",
		Long: `Shows the consequences for the nodes, asks, sets the stage to Complete, and waits until all nodes have
returned to service, except nodes that another maintenance needs. It cancels drains in progress;
evicted pods stay on their new nodes. You cannot undo it; to stop for some time, pause the
maintenance.`,
		Example: `  kubectl slipway maintenance abort rack-upgrade
  kubectl slipway maintenance abort rack-upgrade --yes --wait=false`,
	}, cobra.ExactArgs(1), func(ctx context.Context, name string, _ []string) error { return abort(ctx, t, name, yes, w) }, nil)
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	w.AddWaiting(command, "wait until its nodes have returned")
	w.Output = cli.AddOutput(command.Flags(), cli.JSON, cli.YAML, cli.Name)
	return command
}

func abort(ctx context.Context, t *cli.Tool, name string, yes bool, w *cli.Waiting) error {
	if err := w.Check(); err != nil {
		return err
	}
	_, client, err := t.Open(ctx)
	if err != nil {
		return err
	}
	m, err := cli.GetMaintenance(ctx, client, name)
	if err != nil {
		return err
	}
	row := rowOfMaintenance(m)
	switch {
	case row.over():
		t.Sayf("%s has %s already\n", cli.MaintenanceName(name), row.State)
		return nil
	case row.Stage != slipwayv1alpha1.StageComplete:
		fmt.Fprint(t.ErrOut, abortText(&row))
		if err := t.Confirm(yes, "End it?"); err != nil {
			return err
		}
	}
	return setStage(ctx, t, name, slipwayv1alpha1.StageComplete, w)
}

// abortText describes the consequences of an early end for the nodes.
func abortText(r *maintenanceRow) string {
	n := r.Nodes
	text := fmt.Sprintf("NodeMaintenance %s ends for good:\n", ui.Clean(r.Name))
	if n.Out+n.Failed+n.Returned+n.Waiting == 0 {
		return text + "  no node has begun\n"
	}
	for _, group := range []struct {
		count int32
		text  string
	}{
		{n.Returned, "returned to service before"},
		{n.Out, "out of service now: they return, without the rest of their drains; evicted pods stay on their new nodes"},
		{n.Failed, "failed: they return to service"},
		{n.Waiting, "waiting: they do not begin"},
	} {
		if group.count > 0 {
			text += fmt.Sprintf("  %d %s\n", group.count, group.text)
		}
	}
	return text
}
