// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

const (
	noMaintenances = "There is no NodeMaintenance.\n"
	nodesUnread    = "the list has only nodes that need attention or are out of service"
)

func newStatus(t *cli.Tool) *cobra.Command {
	var watch bool
	var output *cli.Output
	command := t.ForMaintenance(&cobra.Command{
		Use:   "status [NAME]",
		Short: "Show the maintenances, or one of them with its nodes",
		Long: `Without a name, the command lists all NodeMaintenances with their progress. With a name, it shows the
state, each node as a character in a line for each domain of the rollout, the nodes that have failed,
are blocked or are out of service, and commands that help. -o wide has a line for each node.

With -w, it redraws a terminal at each change; elsewhere, each change is a line, or one JSON object
with -o json.`,
		Example: `  kubectl slipway maintenance status
  kubectl slipway maintenance status rack-upgrade -w
  kubectl slipway maintenance status -o custom-columns=NAME:.name,STATE:.state,OUT:.nodes.out
  kubectl slipway maintenance status rack-upgrade -o json | jq '.nodeStatuses[] | select(.phase == "Failed")'`,
	}, cobra.MaximumNArgs(1), func(ctx context.Context, name string, _ []string) error {
		if watch {
			if err := output.Streams("does not go with -w"); err != nil {
				return err
			}
		}
		return showStatus(ctx, t, name, output, watch)
	}, nil)
	command.Flags().BoolVarP(&watch, "watch", "w", false, "watch for changes")
	output = cli.AddShow(command.Flags())
	return command
}

func showStatus(ctx context.Context, t *cli.Tool, name string, output *cli.Output, watch bool) error {
	c, reader, err := t.Open(ctx)
	if err != nil {
		return err
	}
	var all []*slipwayv1alpha1.NodeMaintenance
	if name == "" {
		all, err = cli.ListMaintenances(ctx, reader)
	} else {
		all = make([]*slipwayv1alpha1.NodeMaintenance, 1)
		all[0], err = cli.GetMaintenance(ctx, reader, name)
	}
	if err != nil {
		return err
	}
	if watch {
		_, err := newWatcher(t, c, output.Format, name).run(ctx)
		return err
	}
	rows := maintenanceRows(all)
	if name != "" {
		if err := readNodes(ctx, t, reader, &rows[0]); err != nil {
			return err
		}
	}
	return t.Print(output, statusView(t, rows, name != ""))
}

// readNodes adds the nodes of a maintenance, unless the caller may not list them.
func readNodes(ctx context.Context, t *cli.Tool, reader client.Reader, row *maintenanceRow) error {
	nodes, err := t.ListNodes(ctx, reader, nodesUnread)
	if err != nil || nodes == nil {
		return err
	}
	var events lifecyclev1alpha1.LifecycleEventList
	if err := reader.List(ctx, &events); err != nil {
		return fmt.Errorf("list LifecycleEvents: %w", err)
	}
	row.addNodes(nodes, cli.Pointers(events.Items))
	return nil
}

// statusView shows a list of maintenances, or only one, with its nodes.
func statusView(t *cli.Tool, rows []maintenanceRow, one bool) cli.View {
	v := cli.View{Value: cli.List(rows), Text: func(style ui.Style, wide bool) string {
		if one {
			return maintenanceText(&rows[0], style, t.Clock.Now(), wide)
		}
		return maintenanceTable(rows, style, t.Clock.Now(), wide)
	}}
	if one {
		v.Value = rows[0]
	}
	for _, r := range rows {
		v.Names = append(v.Names, cli.MaintenanceName(r.Name))
	}
	return v
}
