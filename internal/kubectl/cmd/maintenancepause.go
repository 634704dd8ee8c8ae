// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func newMaintenancePause(t *tool) *cobra.Command {
	return &cobra.Command{
		Use:   "pause NAME",
		Short: "Have no more nodes begin, or go on to what comes next for them",
		Long: `Sets spec.paused. No node is begun, and none goes on to what comes next for it: a node that is
drained stays so. A drain or a Job that is going on, goes on.`,
		Example:           `  kubectl slipway maintenance pause rack-upgrade`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeMaintenance,
		RunE: func(command *cobra.Command, args []string) error {
			return t.pauseMaintenance(command.Context(), args[0])
		},
	}
}

func (t *tool) pauseMaintenance(ctx context.Context, arg string) error {
	m, changed, err := t.editMaintenance(ctx, arg, func(m *slipwayv1alpha1.NodeMaintenance) (bool, error) {
		if row := rowOfMaintenance(m); row.over() {
			return false, overError(&row)
		}
		was := m.Spec.Paused
		m.Spec.Paused = true
		return !was, nil
	})
	switch {
	case err != nil:
		return err
	case !changed:
		t.say(maintenanceName(m.Name) + " is paused already\n")
	default:
		t.say(fmt.Sprintf("%s paused; what goes on with %d nodes that are out, goes on as far as it has begun\n", maintenanceName(m.Name), m.Status.Nodes.Out))
	}
	return nil
}

// overError is that nothing can be changed any more.
func overError(r *maintenanceRow) error {
	return fmt.Errorf("NodeMaintenance %s has %s: nothing is left to be done", r.Name, pastOf(r.State))
}

func newMaintenanceResume(t *tool) *cobra.Command {
	var after int32
	command := &cobra.Command{
		Use:   "resume NAME",
		Short: "Go on with a maintenance that is paused, or stands at its --pause-after",
		Long: `Takes spec.paused back. Where the maintenance stands because so many nodes have returned as
--pause-after said, that limit goes as well, and it goes on to its end; with --pause-after,
it stands again when so many more nodes have returned.`,
		Example: `  kubectl slipway maintenance resume rack-upgrade

  # The first nodes were well: do ten more, and stand again
  kubectl slipway maintenance resume rack-upgrade --pause-after 10`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeMaintenance,
		RunE: func(command *cobra.Command, args []string) error {
			if after < 0 {
				return usage("--pause-after: %d is not a number of nodes", after)
			}
			return t.resumeMaintenance(command.Context(), args[0], after)
		},
	}
	command.Flags().Int32Var(&after, "pause-after", 0, "stand again when so many more nodes have returned; 0: go on to the end")
	return command
}

func (t *tool) resumeMaintenance(ctx context.Context, arg string, after int32) error {
	m, changed, err := t.editMaintenance(ctx, arg, func(m *slipwayv1alpha1.NodeMaintenance) (bool, error) { return resumed(m, after) })
	switch {
	case err != nil:
		return err
	case !changed:
		t.say(maintenanceName(m.Name) + " is not paused\n")
	case m.Spec.Rollout != nil && m.Spec.Rollout.PauseAfter != nil:
		t.say(fmt.Sprintf("%s resumed, until %d nodes have returned\n", maintenanceName(m.Name), *m.Spec.Rollout.PauseAfter))
	default:
		t.say(maintenanceName(m.Name) + " resumed\n")
	}
	return nil
}

// resumed has a maintenance go on, for so many more nodes, or to its end.
func resumed(m *slipwayv1alpha1.NodeMaintenance, after int32) (changed bool, err error) {
	if row := rowOfMaintenance(m); row.over() {
		return false, overError(&row)
	}
	changed = m.Spec.Paused
	m.Spec.Paused = false
	rollout := m.Spec.Rollout
	switch {
	case rollout == nil && after > 0:
		return false, usage("--pause-after: NodeMaintenance %s has no rollout: its nodes are out together", m.Name)
	case after > 0:
		limit := m.Status.Nodes.Returned + after
		changed = changed || rollout.PauseAfter == nil || *rollout.PauseAfter != limit
		rollout.PauseAfter = &limit
	case rollout != nil && rollout.PauseAfter != nil && m.Status.Nodes.Returned+m.Status.Nodes.Out >= *rollout.PauseAfter:
		// Those that are out count as well: they are why nobody begins, and a node that is back is
		// counted as out until its event has gone.
		rollout.PauseAfter, changed = nil, true
	}
	return changed, nil
}
