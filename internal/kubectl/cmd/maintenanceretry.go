// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func newMaintenanceRetry(t *tool) *cobra.Command {
	return &cobra.Command{
		Use:   "retry NAME",
		Short: "Try the nodes again that have failed, or whose drains wait for each other",
		Long: `Raises spec.retry, and says which nodes had failed, and why. A node whose drain is still there
goes on from where it is, without another drain and without waiting for its turn: what had not
left it leaves, hooks that are not open are asked again, and the work is done anew, by a new
Job. A node whose drain has failed or was canceled, or whose return has failed, waits for its
turn as nodes do that have not begun, and then goes all the way, from the drain on.

Where drains of nodes wait for each other (reason Deadlock) because each node has given way
as often as it may, they give way anew. Add room, or relax the budgets that the status names,
before: else it ends as it did. Without a rollout, no node gives way.`,
		Example: `  # See why first
  kubectl slipway maintenance status rack-upgrade
  kubectl slipway maintenance retry rack-upgrade`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeMaintenance,
		RunE: func(command *cobra.Command, args []string) error {
			return t.retryMaintenance(command.Context(), args[0])
		},
	}
}

func (t *tool) retryMaintenance(ctx context.Context, arg string) error {
	var failed, stuck []slipwayv1alpha1.MaintenanceNodeStatus
	m, changed, err := t.editMaintenance(ctx, arg, func(m *slipwayv1alpha1.NodeMaintenance) (again bool, err error) {
		failed, stuck, again, err = retried(m)
		return again, err
	})
	switch {
	case err != nil:
		return err
	case !changed:
		t.say(maintenanceName(m.Name) + " has no nodes that have failed, or that could give way to each other\n")
		return nil
	}
	for _, n := range failed {
		t.say(fmt.Sprintf("node/%s is tried again, after %s\n", ui.Clean(n.Name), ui.Clean(orDash(whyOf(n)))))
	}
	if more := int(m.Status.Nodes.Failed) - len(failed); more > 0 {
		t.say(fmt.Sprintf("and %s\n", ui.Count(more, "more node", "more nodes")))
	}
	for _, n := range stuck {
		t.say(fmt.Sprintf("node/%s may give way again to the nodes whose drains wait for its own\n", ui.Clean(n.Name)))
	}
	return nil
}

// retried has the nodes tried again that have failed, and those that are stuck, because their
// drains wait for each other, give way again. Without a rollout, none of these does.
func retried(m *slipwayv1alpha1.NodeMaintenance) (failed, stuck []slipwayv1alpha1.MaintenanceNodeStatus, changed bool, err error) {
	row := rowOfMaintenance(m)
	if row.over() || row.Stage == slipwayv1alpha1.StageComplete {
		return nil, nil, false, fmt.Errorf("NodeMaintenance %s is complete, and begins nothing any more: maintain the nodes under another name", m.Name)
	}
	for _, n := range m.Status.NodeStatuses {
		switch {
		case n.Phase == slipwayv1alpha1.NodeFailed:
			failed = append(failed, n)
		case n.Reason == slipwayv1alpha1.ReasonDeadlock && m.Spec.Rollout != nil:
			stuck = append(stuck, n)
		}
	}
	if len(failed) == 0 && len(stuck) == 0 && m.Status.Nodes.Failed == 0 {
		return nil, nil, false, nil
	}
	m.Spec.Retry++
	return failed, stuck, true, nil
}
