// SPDX-License-Identifier: Apache-2.0

// Package lease has the command lease, about the leases of nodes.
package lease

import (
	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// Commands returns the commands of this group.
func Commands(t *cli.Tool) []*cobra.Command {
	return []*cobra.Command{newCommand(t)}
}
