// SPDX-License-Identifier: Apache-2.0

package cmd

import "github.com/spf13/cobra"

func newMaintenance(t *tool) *cobra.Command {
	command := &cobra.Command{
		Use:     "maintenance",
		Aliases: []string{"maintenances", "nm"},
		Short:   "Show maintenances of many nodes, pause them, move them on, end them",
		Long: `Commands for NodeMaintenances, which 'kubectl slipway maintain' creates, or anybody else who
creates the object.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	for _, newCommand := range []func(*tool) *cobra.Command{
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
