// SPDX-License-Identifier: Apache-2.0

// Package status has the commands that show and change nothing: status, explain, drivers, budgets
// and version.
package status

import (
	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// Commands returns the commands of this group.
func Commands(t *cli.Tool) []*cobra.Command {
	return []*cobra.Command{newStatus(t), newExplain(t), newDrivers(t), newBudgets(t), newVersion(t)}
}
