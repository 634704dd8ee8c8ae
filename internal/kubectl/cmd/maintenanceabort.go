// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func newMaintenanceAbort(t *tool) *cobra.Command {
	var w *waitFlags
	var yes bool
	command := &cobra.Command{
		Use:   "abort NAME",
		Short: "End a maintenance early, and return its nodes",
		Long: `Says what that means for the nodes, asks, sets the stage to Complete, and waits until no node
needs anything any more. No more nodes begin. Drains that have not ended are canceled, and
their cordons undone; pods that have left stay where they are. Nodes that are drained, or
have failed, return; those that another maintenance needs out stay out for that one.

It cannot be taken back: a stage never goes back. To only stand still, pause it.`,
		Example: `  kubectl slipway maintenance abort rack-upgrade
  kubectl slipway maintenance abort rack-upgrade --yes --wait=false`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeMaintenance,
		RunE: func(command *cobra.Command, args []string) error {
			name, err := cutMaintenance(args[0])
			if err != nil {
				return err
			}
			return t.abortMaintenance(command.Context(), name, yes, w)
		},
	}
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	w = addWait(command, "wait until its nodes have returned")
	return command
}

func (t *tool) abortMaintenance(ctx context.Context, name string, yes bool, w *waitFlags) error {
	_, client, err := t.openMaintenances(ctx)
	if err != nil {
		return err
	}
	m, err := getMaintenance(ctx, client, name)
	if err != nil {
		return err
	}
	row := rowOfMaintenance(m)
	switch {
	case row.over():
		t.say(fmt.Sprintf("%s has %s already\n", maintenanceName(name), pastOf(row.State)))
		return nil
	case row.Stage != slipwayv1alpha1.StageComplete:
		fmt.Fprint(t.ErrOut, abortText(&row))
		if err := t.confirm(yes, "End it?"); err != nil {
			return err
		}
	}
	return t.stageMaintenance(ctx, name, slipwayv1alpha1.StageComplete, w)
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
	line(n.Out, "node is out, and returns: a drain that has not ended is canceled, and pods that have left stay where they are",
		"nodes are out, and return: drains that have not ended are canceled, and pods that have left stay where they are")
	line(n.Failed, "node has failed, and returns", "nodes have failed, and return")
	line(n.Waiting, "node has not begun, and does not", "nodes have not begun, and do not")
	return text.String()
}
