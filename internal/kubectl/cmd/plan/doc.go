// SPDX-License-Identifier: Apache-2.0

// Package plan has the command plan, which predicts drains and maintenances.
package plan

import (
	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// Commands returns the commands of this group.
func Commands(t *cli.Tool) []*cobra.Command {
	return []*cobra.Command{newPlan(t)}
}
