// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// noMaintenances is what is said where none is to be shown.
const noMaintenances = "There is no NodeMaintenance.\n"

// maintenanceStatusFlags are those of maintenance status.
type maintenanceStatusFlags struct {
	name   string
	output *outputFlag
	watch  bool
}

func newMaintenanceStatus(t *tool) *cobra.Command {
	s := &maintenanceStatusFlags{}
	command := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show the maintenances, or one of them with its nodes",
		Long: `Without a name: all NodeMaintenances, how far they are, and what they wait for. With one: how
it is, each of its nodes as a character in a line for each domain of its rollout, the nodes
that have failed, are held up or are out, and the commands that help. -o wide has a line for
each node.

With -w it goes on: a terminal is redrawn; elsewhere, each change is a line, or one JSON
object with -o json, without the nodes that need no attention.`,
		Example: `  kubectl slipway maintenance status
  kubectl slipway maintenance status rack-upgrade -w
  kubectl slipway maintenance status rack-upgrade -o json | jq '.nodeStatuses[] | select(.phase == "Failed")'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: t.completeMaintenance,
		RunE: func(command *cobra.Command, args []string) (err error) {
			if len(args) > 0 {
				if s.name, err = cutMaintenance(args[0]); err != nil {
					return err
				}
			}
			if f := s.output.format; s.watch && (f == yamlText || f == names) {
				return usage("-o %s does not go with -w; -o json prints one object a change", f)
			}
			return t.maintenanceStatus(command.Context(), s)
		},
	}
	command.Flags().BoolVarP(&s.watch, "watch", "w", false, "go on showing what changes")
	s.output = addOutput(command.Flags(), jsonText, yamlText, wide, names)
	return command
}

func (t *tool) maintenanceStatus(ctx context.Context, s *maintenanceStatusFlags) error {
	c, reader, err := t.openMaintenances(ctx)
	if err != nil {
		return err
	}
	if s.name == "" {
		all, err := listMaintenances(ctx, reader)
		if err != nil {
			return err
		}
		if s.watch {
			_, err := (&maintenanceWatch{tool: t, cluster: c, format: s.output.format}).run(ctx)
			return err
		}
		return t.printMaintenances(s.output.format, maintenanceRows(all))
	}
	m, err := getMaintenance(ctx, reader, s.name)
	if err != nil {
		return err
	}
	if s.watch {
		_, err := (&maintenanceWatch{tool: t, cluster: c, format: s.output.format, only: s.name}).run(ctx)
		return err
	}
	row, err := t.readMaintenanceRow(ctx, reader, m)
	if err != nil {
		return err
	}
	return t.printMaintenance(s.output.format, row)
}

// readMaintenanceRow adds the nodes of a maintenance, as far as they may be read.
func (t *tool) readMaintenanceRow(ctx context.Context, reader client.Reader, m *slipwayv1alpha1.NodeMaintenance) (*maintenanceRow, error) {
	row := rowOfMaintenance(m)
	var nodes corev1.NodeList
	err := reader.List(ctx, &nodes)
	switch {
	case apierrors.IsForbidden(err):
		fmt.Fprintln(t.ErrOut, "You may not list Nodes, so only those are shown that need attention or are out.")
		return &row, nil
	case err != nil:
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	var events lifecyclev1alpha1.LifecycleEventList
	if err := reader.List(ctx, &events); err != nil {
		return nil, fmt.Errorf("list LifecycleEvents: %w", err)
	}
	row.withNodes(pointers(nodes.Items), pointers(events.Items))
	return &row, nil
}

func (t *tool) printMaintenances(f format, rows []maintenanceRow) error {
	switch {
	case f == jsonText || f == yamlText:
		return encode(t.Out, f, rows)
	case f == names:
		for _, r := range rows {
			fmt.Fprintln(t.Out, maintenanceName(r.Name))
		}
		return nil
	case len(rows) == 0:
		t.say(noMaintenances)
		return nil
	}
	_, err := fmt.Fprint(t.Out, maintenanceTable(rows, ui.StyleOf(t.Out, os.Getenv), t.clock.Now(), f == wide))
	return err
}

func (t *tool) printMaintenance(f format, r *maintenanceRow) error {
	switch f {
	case jsonText, yamlText:
		return encode(t.Out, f, r)
	case names:
		fmt.Fprintln(t.Out, maintenanceName(r.Name))
		return nil
	case people, wide:
	}
	_, err := fmt.Fprint(t.Out, maintenanceText(r, ui.StyleOf(t.Out, os.Getenv), t.clock.Now(), f == wide))
	return err
}
