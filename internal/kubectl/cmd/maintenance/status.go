// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

const (
	noMaintenances = "There is no NodeMaintenance.\n"
	nodesUnread    = "only those are shown that need attention or are out"
)

// statusFlags are the flags of maintenance status.
type statusFlags struct {
	name   string
	output *cli.Output
	watch  bool
}

func newMaintenanceStatus(t *cli.Tool) *cobra.Command {
	s := &statusFlags{}
	command := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show the maintenances, or one of them with its nodes",
		Long: `Without a name: all NodeMaintenances, their progress, and what they wait for. With one: its
state, each of its nodes as a character in a line for each domain of its rollout, the nodes that
have failed, are blocked or are out, and the commands that help. -o wide has a line for each node.

-w goes on: it redraws a terminal; elsewhere each change is a line, or one JSON object with
-o json, without the nodes that need no attention.`,
		Example: `  kubectl slipway maintenance status
  kubectl slipway maintenance status rack-upgrade -w
  kubectl slipway maintenance status -o custom-columns=NAME:.name,STATE:.state,OUT:.nodes.out
  kubectl slipway maintenance status rack-upgrade -o json | jq '.nodeStatuses[] | select(.phase == "Failed")'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: t.CompleteMaintenance(1, nil),
		RunE: func(command *cobra.Command, args []string) (err error) {
			if len(args) > 0 {
				if s.name, err = cli.CutMaintenance(args[0]); err != nil {
					return err
				}
			}
			if s.watch {
				if err := s.output.Streams("does not go with -w"); err != nil {
					return err
				}
			}
			return s.run(command.Context(), t)
		},
	}
	command.Flags().BoolVarP(&s.watch, "watch", "w", false, "go on showing what changes")
	s.output = cli.AddShow(command.Flags())
	return command
}

func (s *statusFlags) run(ctx context.Context, t *cli.Tool) error {
	c, reader, err := t.Open(ctx)
	if err != nil {
		return err
	}
	var all []*slipwayv1alpha1.NodeMaintenance
	if s.name == "" {
		all, err = cli.ListMaintenances(ctx, reader)
	} else {
		var m *slipwayv1alpha1.NodeMaintenance
		m, err = cli.GetMaintenance(ctx, reader, s.name)
		all = append(all, m)
	}
	switch {
	case err != nil:
		return err
	case s.watch:
		_, err := newWatcher(t, c, s.output.Format, s.name).run(ctx)
		return err
	case s.name == "":
		return showMaintenances(t, s.output, maintenanceRows(all))
	}
	row, err := readMaintenanceRow(ctx, t, reader, all[0])
	if err != nil {
		return err
	}
	return showMaintenance(t, s.output, row)
}

// readMaintenanceRow adds the nodes of a maintenance, as far as they may be read.
func readMaintenanceRow(ctx context.Context, t *cli.Tool, reader client.Reader, m *slipwayv1alpha1.NodeMaintenance) (*maintenanceRow, error) {
	row := rowOfMaintenance(m)
	nodes, err := t.ListNodes(ctx, reader, nodesUnread)
	if err != nil || nodes == nil {
		return &row, err
	}
	var events lifecyclev1alpha1.LifecycleEventList
	if err := reader.List(ctx, &events); err != nil {
		return nil, fmt.Errorf("list LifecycleEvents: %w", err)
	}
	row.withNodes(nodes, cli.Pointers(events.Items))
	return &row, nil
}

func showMaintenances(t *cli.Tool, o *cli.Output, rows []maintenanceRow) error {
	var names []string
	for _, r := range rows {
		names = append(names, cli.MaintenanceName(r.Name))
	}
	return t.Print(o, cli.View{Value: cli.List(rows), Names: names, Human: func(out io.Writer, style ui.Style, wide bool) error {
		text := noMaintenances
		if len(rows) > 0 {
			text = maintenanceTable(rows, style, t.Clock.Now(), wide)
		}
		_, err := fmt.Fprint(out, text)
		return err
	}})
}

func showMaintenance(t *cli.Tool, o *cli.Output, r *maintenanceRow) error {
	return t.Print(o, cli.View{Value: r, Names: []string{cli.MaintenanceName(r.Name)}, Human: func(out io.Writer, style ui.Style, wide bool) error {
		_, err := fmt.Fprint(out, maintenanceText(r, style, t.Clock.Now(), wide))
		return err
	}})
}
