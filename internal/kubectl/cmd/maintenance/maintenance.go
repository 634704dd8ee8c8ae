// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

func newMaintenance(t *cli.Tool) *cobra.Command {
	command := &cobra.Command{
		Use:     "maintenance",
		Aliases: []string{"maintenances", "nm"},
		Short:   "Show maintenances of nodes, pause them, move them on, end them",
		Long:    `Commands for NodeMaintenances, which 'kubectl slipway maintain' or any other client creates.`,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	for _, newCommand := range []func(*cli.Tool) *cobra.Command{
		newMaintenanceStatus,
		newMaintenancePause,
		newMaintenanceResume,
		newMaintenanceRetry,
		newMaintenanceStage,
		newMaintenanceAbort,
		newMaintenanceOpen,
		newMaintenanceHold,
	} {
		command.AddCommand(newCommand(t))
	}
	return command
}
