// SPDX-License-Identifier: Apache-2.0

// Package install has install and uninstall.
package install

import (
	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// Commands returns the commands of this group.
func Commands(t *cli.Tool) []*cobra.Command {
	return []*cobra.Command{newInstall(t), newUninstall(t)}
}
