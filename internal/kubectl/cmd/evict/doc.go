// SPDX-License-Identifier: Apache-2.0

// Package evict has the commands about EvictionRequests: evict and evictions.
package evict

import (
	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// Commands returns the commands of this group.
func Commands(t *cli.Tool) []*cobra.Command {
	return []*cobra.Command{newEvict(t), newEvictions(t)}
}
