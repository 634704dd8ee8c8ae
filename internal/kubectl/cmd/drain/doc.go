// SPDX-License-Identifier: Apache-2.0

// Package drain has the commands that take nodes out of service one by one, and return them: drain,
// uncordon, cancel and hold. requester.go creates, finds and withdraws events; pursuit.go sends the
// requests and follows them; verdict.go reports the end and chooses the exit code.
package drain

import (
	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// Commands returns the commands of this group.
func Commands(t *cli.Tool) []*cobra.Command {
	return []*cobra.Command{newDrain(t), newUncordon(t), newCancel(t), newHold(t)}
}
