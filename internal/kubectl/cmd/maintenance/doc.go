// SPDX-License-Identifier: Apache-2.0

// Package maintenance has the commands about NodeMaintenances: maintain, maintenance and done.
//
//	maintain.go, spec.go   flags ──▶ NodeMaintenance
//	create.go              a look at the nodes, and the request
//	edit.go, hook.go, done.go   changes of an existing maintenance
//	row.go, nodes.go       NodeMaintenance, Nodes, LifecycleEvents ──▶ row (pure)
//	print.go, picture.go, advice.go   row ──▶ text (pure)
//	status.go, watch.go    the commands that show rows, once or until a goal
package maintenance

import (
	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// Commands returns the commands of this group.
func Commands(t *cli.Tool) []*cobra.Command {
	parent := &cobra.Command{
		Use:     "maintenance",
		Aliases: []string{"maintenances", "nm"},
		Short:   "Show maintenances of nodes, pause them, move them to a stage, end them",
		Long:    `Commands for NodeMaintenances, which 'kubectl slipway maintain' or any other client creates.`,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	parent.AddCommand(newStatus(t), newPause(t), newResume(t), newRetry(t), newStage(t), newAbort(t), newOpen(t), newHold(t))
	return []*cobra.Command{newMaintain(t), parent, newDone(t)}
}
