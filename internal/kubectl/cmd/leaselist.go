// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func newLeaseList(t *tool) *cobra.Command {
	var output *outputFlag
	command := &cobra.Command{
		Use:   "list",
		Short: "Show which nodes somebody works on",
		Long: `Shows the nodes whose lease somebody holds: who, since when and until when, unless it is
renewed, and what for. Look here before an upgrade of the cluster, or before a maintenance.

A lease that has expired is free: its holder has stopped without giving it back, and may have
left the node half done. One that an administrator holds ends when it is given back.

-o wide says besides the times themselves, and how often the lease went to another holder.
For programs, -o json and yaml have the nodes whose lease was given back, too.`,
		Example: `  kubectl slipway lease list
  kubectl slipway lease list -o json | jq -r '.[] | select(.state == "held") | .node'`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			rows, err := t.readLeases(command.Context())
			if err != nil {
				return err
			}
			return t.printLeases(output.format, rows, ui.StyleOf(t.Out, os.Getenv))
		},
	}
	output = addOutput(command.Flags(), jsonText, yamlText, wide)
	return command
}

func (t *tool) readLeases(ctx context.Context) ([]leaseRow, error) {
	l, err := t.leases()
	if err != nil {
		return nil, err
	}
	all, err := l.List(ctx)
	if err != nil {
		return nil, leaseTrouble(err)
	}
	rows := make([]leaseRow, 0, len(all))
	for _, standing := range all {
		rows = append(rows, leaseRowOf(standing))
	}
	return rows, nil
}

func (t *tool) printLeases(f format, rows []leaseRow, style ui.Style) error {
	if f == jsonText || f == yamlText {
		return encode(t.Out, f, rows)
	}
	var taken []leaseRow
	for _, row := range rows {
		if row.State != leaseFree {
			taken = append(taken, row)
		}
	}
	if len(taken) == 0 {
		t.say("Nobody holds the lease of a node.\n")
		return nil
	}
	_, err := fmt.Fprint(t.Out, leaseTable(taken, style, t.clock.Now(), f == wide))
	return err
}
