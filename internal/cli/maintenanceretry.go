// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/show"
)

func newMaintenanceRetry(t *tool) *cobra.Command {
	return &cobra.Command{
		Use:   "retry NAME",
		Short: "Try the nodes again that have failed",
		Long: `Raises spec.retry, and says which nodes had failed, and why. They wait for their turn as nodes
do that have not begun; what had failed is begun anew, from the drain on.`,
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
	var failed []slipwayv1alpha1.MaintenanceNodeStatus
	m, changed, err := t.editMaintenance(ctx, arg, func(m *slipwayv1alpha1.NodeMaintenance) (again bool, err error) {
		failed, again, err = retried(m)
		return again, err
	})
	switch {
	case err != nil:
		return err
	case !changed:
		t.say(maintenanceName(m.Name) + " has no nodes that have failed\n")
		return nil
	}
	for _, n := range failed {
		t.say(fmt.Sprintf("node/%s is tried again, after %s\n", show.Clean(n.Name), show.Clean(orDash(whyOf(n)))))
	}
	if more := int(m.Status.Nodes.Failed) - len(failed); more > 0 {
		t.say(fmt.Sprintf("and %s\n", show.Count(more, "more node", "more nodes")))
	}
	return nil
}

// retried has the nodes tried again that have failed.
func retried(m *slipwayv1alpha1.NodeMaintenance) (failed []slipwayv1alpha1.MaintenanceNodeStatus, changed bool, err error) {
	row := rowOfMaintenance(m)
	if row.over() || row.Stage == slipwayv1alpha1.StageComplete {
		return nil, false, fmt.Errorf("NodeMaintenance %s is complete, and begins nothing any more: maintain the nodes under another name", m.Name)
	}
	for _, n := range m.Status.NodeStatuses {
		if n.Phase == slipwayv1alpha1.NodeFailed {
			failed = append(failed, n)
		}
	}
	if len(failed) == 0 && m.Status.Nodes.Failed == 0 {
		return nil, false, nil
	}
	m.Spec.Retry++
	return failed, true, nil
}
