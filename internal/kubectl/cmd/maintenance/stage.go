// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// stages in their order.
var stages = []slipwayv1alpha1.MaintenanceStage{
	slipwayv1alpha1.StageIdle, slipwayv1alpha1.StageCordon, slipwayv1alpha1.StageDrain, slipwayv1alpha1.StageComplete,
}

func newMaintenanceStage(t *cli.Tool) *cobra.Command {
	w := &cli.Waiting{}
	command := &cobra.Command{
		Use:   "stage NAME cordon|drain|complete",
		Short: "Move a maintenance to its next stage",
		Long: `Sets spec.stage, and follows the maintenance. Stages go from idle to cordon, drain and complete;
some can be left out, and none goes back.

Without a rollout, all nodes are cordoned or drained at the same time, and complete returns them.
With one, drain starts the rollout, and complete ends it early, as 'maintenance abort' does, which
asks first.`,
		Example: `  kubectl slipway maintenance stage rack-7 drain
  kubectl slipway maintenance stage rack-7 complete --wait=false`,
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: t.CompleteMaintenance(2, func(*slipwayv1alpha1.NodeMaintenance, []string) []string {
			return []string{"cordon", "drain", "complete"}
		}),
		RunE: func(command *cobra.Command, args []string) error {
			name, err := cli.CutMaintenance(args[0])
			if err != nil {
				return err
			}
			stage, err := request.StageNamed(args[1])
			if err != nil {
				return cli.Usagef("%w", err)
			}
			if err := w.Check(); err != nil {
				return err
			}
			return setStage(command.Context(), t, name, stage, w)
		},
	}
	w.AddWaiting(command.Flags(), "follow it: until the nodes are drained, or have returned")
	w.Output = cli.AddOutput(command.Flags(), cli.JSON, cli.YAML, cli.Name)
	return command
}

func setStage(ctx context.Context, t *cli.Tool, name string, stage slipwayv1alpha1.MaintenanceStage, w *cli.Waiting) error {
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
	return t.Print(w.Output, cli.View{Value: rowOfMaintenance(m), Names: []string{cli.MaintenanceName(m.Name)}, Human: func(io.Writer, ui.Style, bool) error {
		t.Sayf("%s in stage %s\n", cli.MaintenanceName(m.Name), stage)
		return nil
	}})
}

// staged moves a maintenance to a stage.
func staged(m *slipwayv1alpha1.NodeMaintenance, stage slipwayv1alpha1.MaintenanceStage) (changed bool, err error) {
	row := rowOfMaintenance(m)
	switch is, to := slices.Index(stages, row.Stage), slices.Index(stages, stage); {
	case to < is:
		return false, fmt.Errorf("NodeMaintenance %s is in stage %s, and no stage goes back to %s; a new one can be created for its nodes",
			m.Name, row.Stage, stage)
	case to == is:
		return false, nil
	}
	m.Spec.Stage = stage
	return true, nil
}

func newMaintenanceAbort(t *cli.Tool) *cobra.Command {
	w := &cli.Waiting{}
	var yes bool
	command := &cobra.Command{
		Use:   "abort NAME",
		Short: "End a maintenance early, and return its nodes",
		Long: `Says what that means for the nodes, asks, sets the stage to Complete, and waits until no node
needs anything any more. No more nodes start. Drains that have not ended are canceled, and their
cordons undone; evicted pods stay where they are. Nodes that are drained or have failed return to
service; nodes that another maintenance needs out stay out for that one.

It cannot be undone: a stage never goes back. To stop for some time, pause the maintenance.`,
		Example: `  kubectl slipway maintenance abort rack-upgrade
  kubectl slipway maintenance abort rack-upgrade --yes --wait=false`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.CompleteMaintenance(1, nil),
		RunE: func(command *cobra.Command, args []string) error {
			name, err := cli.CutMaintenance(args[0])
			if err != nil {
				return err
			}
			if err := w.Check(); err != nil {
				return err
			}
			return abort(command.Context(), t, name, yes, w)
		},
	}
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	w.AddWaiting(command.Flags(), "wait until its nodes have returned")
	w.Output = cli.AddOutput(command.Flags(), cli.JSON, cli.YAML, cli.Name)
	return command
}

func abort(ctx context.Context, t *cli.Tool, name string, yes bool, w *cli.Waiting) error {
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
		t.Sayf("%s has %s already\n", cli.MaintenanceName(name), pastOf(row.State))
		return nil
	case row.Stage != slipwayv1alpha1.StageComplete:
		fmt.Fprint(t.ErrOut, abortText(&row))
		if err := t.Confirm(yes, "End it?"); err != nil {
			return err
		}
	}
	return setStage(ctx, t, name, slipwayv1alpha1.StageComplete, w)
}

// abortText says what an early end means for the nodes.
func abortText(r *maintenanceRow) string {
	n := r.Nodes
	var text strings.Builder
	fmt.Fprintf(&text, "NodeMaintenance %s ends for good:\n", ui.Clean(r.Name))
	if n.Out+n.Failed+n.Returned+n.Waiting == 0 {
		fmt.Fprintln(&text, "  no node has begun")
	}
	line := func(count int32, one, more string) {
		if count > 0 {
			fmt.Fprintf(&text, "  %s\n", ui.Count(int(count), one, more))
		}
	}
	line(n.Returned, "node has returned, and stays as it is", "nodes have returned, and stay as they are")
	line(n.Out, "node is out, and returns: a drain that has not ended is canceled, and evicted pods stay where they are",
		"nodes are out, and return: drains that have not ended are canceled, and evicted pods stay where they are")
	line(n.Failed, "node has failed, and returns", "nodes have failed, and return")
	line(n.Waiting, "node has not begun, and does not", "nodes have not begun, and do not")
	return text.String()
}
