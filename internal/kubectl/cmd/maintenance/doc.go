// SPDX-License-Identifier: Apache-2.0

// Package maintenance has the commands about NodeMaintenances: maintain, maintenance and done.
package maintenance

import (
	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// Commands returns the commands of this group.
func Commands(t *cli.Tool) []*cobra.Command {
	return []*cobra.Command{newMaintain(t), newMaintenance(t), newDone(t)}
}
