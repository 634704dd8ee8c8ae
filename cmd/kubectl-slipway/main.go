// SPDX-License-Identifier: Apache-2.0

// Command kubectl-slipway is a plugin of kubectl: kubectl slipway drains nodes, returns
// them, and says what holds them up.
package main

import (
	"os"

	"github.com/slipway-k8s/slipway/internal/kubectl/cmd"
)

func main() { os.Exit(cmd.Main()) }
