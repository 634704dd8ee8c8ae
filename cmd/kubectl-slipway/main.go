// SPDX-License-Identifier: Apache-2.0

// Command kubectl-slipway is a plugin of kubectl: kubectl slipway drains and uncordons
// nodes, and explains blockers.
package main

import (
	"os"

	"github.com/slipway-k8s/slipway/internal/kubectl/cmd"
)

func main() { os.Exit(cmd.Main()) }
