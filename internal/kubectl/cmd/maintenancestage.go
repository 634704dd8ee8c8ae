// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// stages in their order.
var stages = []slipwayv1alpha1.MaintenanceStage{
	slipwayv1alpha1.StageIdle, slipwayv1alpha1.StageCordon, slipwayv1alpha1.StageDrain, slipwayv1alpha1.StageComplete,
}

// waitFlags say whether and how long to wait.
type waitFlags struct {
	wait    bool
	timeout time.Duration
	output  *outputFlag
}

func addWait(command *cobra.Command, what string) *waitFlags {
	w := &waitFlags{}
	command.Flags().BoolVar(&w.wait, "wait", true, what)
	command.Flags().DurationVar(&w.timeout, "timeout", 0, "how long to wait; 0: without limit")
	w.output = addOutput(command.Flags(), jsonText, names)
	return w
}

func newMaintenanceStage(t *tool) *cobra.Command {
	var w *waitFlags
	command := &cobra.Command{
		Use:   "stage NAME cordon|drain|complete",
		Short: "Move a maintenance to its next stage",
		Long: `Sets spec.stage, and follows what comes of it. Stages go from idle to cordon, drain and
complete; some can be left out, and none goes back.

Without a rollout, all nodes are cordoned, or drained, at the same time, and complete returns
them. With one, drain starts the rollout, and complete ends it early, as 'maintenance abort'
does, which asks first.`,
		Example: `  kubectl slipway maintenance stage rack-7 drain
  kubectl slipway maintenance stage rack-7 complete --wait=false`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: t.completeStage,
		RunE: func(command *cobra.Command, args []string) error {
			name, err := cutMaintenance(args[0])
			if err != nil {
				return err
			}
			stage, err := request.StageNamed(args[1])
			if err != nil {
				return usage("%w", err)
			}
			return t.stageMaintenance(command.Context(), name, stage, w)
		},
	}
	w = addWait(command, "follow it: until the nodes are drained, or have returned")
	return command
}

func (t *tool) completeStage(command *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return t.completeMaintenance(command, args, begun)
	}
	var found []string
	for _, stage := range []string{"cordon", "drain", "complete"} {
		if strings.HasPrefix(stage, begun) {
			found = append(found, stage)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func (t *tool) stageMaintenance(ctx context.Context, name string, stage slipwayv1alpha1.MaintenanceStage, w *waitFlags) error {
	c, client, err := t.openMaintenances(ctx)
	if err != nil {
		return err
	}
	m, changed, err := changeMaintenance(ctx, client, name, func(m *slipwayv1alpha1.NodeMaintenance) (bool, error) { return staged(m, stage) })
	if err != nil {
		return err
	}
	if !changed {
		fmt.Fprintf(t.ErrOut, "NodeMaintenance %s is in stage %s already.\n", name, stage)
	}
	goal := goalOf(m)
	if w.wait && goal != nil {
		return t.followMaintenance(ctx, c, m, w.output.format, goal, w.timeout)
	}
	return t.printChanged(w.output.format, m, fmt.Sprintf("in stage %s", stage))
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

// printChanged says what was done to a maintenance, for who does not wait.
func (t *tool) printChanged(f format, m *slipwayv1alpha1.NodeMaintenance, done string) error {
	row := rowOfMaintenance(m)
	switch f {
	case jsonText:
		return encode(t.Out, f, row)
	case names:
		t.say(maintenanceName(m.Name) + "\n")
	default:
		t.say(maintenanceName(m.Name) + " " + ui.Clean(done) + "\n")
	}
	return nil
}
