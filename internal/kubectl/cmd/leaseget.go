// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/nodelease"
)

func newLeaseGet(t *tool) *cobra.Command {
	var output *outputFlag
	command := &cobra.Command{
		Use:   "get NODE",
		Short: "Say who works on a node",
		Long: `Says who holds the lease of a node, since when, until when, and what for; or that it is free.
That is no error: for scripts, -o json has it as .state: free, held or expired. An expired one
is free, too: its holder has stopped without giving it back.`,
		Example: `  kubectl slipway lease get worker-1
  kubectl slipway lease get worker-1 -o json | jq -r .state`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeNode,
		RunE: func(command *cobra.Command, args []string) error {
			row, err := t.readLease(command.Context(), args)
			if err != nil {
				return err
			}
			if output.format != people {
				return encode(t.Out, output.format, row)
			}
			t.say(row.text())
			return nil
		},
	}
	output = addOutput(command.Flags(), jsonText, yamlText)
	return command
}

func (t *tool) readLease(ctx context.Context, args []string) (leaseRow, error) {
	node, err := theNode(args)
	if err != nil {
		return leaseRow{}, err
	}
	l, err := t.leases()
	if err != nil {
		return leaseRow{}, err
	}
	if err := l.find(ctx, node); err != nil {
		return leaseRow{}, err
	}
	standing, err := l.Get(ctx, node)
	if err != nil {
		return leaseRow{}, leaseTrouble(err)
	}
	return leaseRowOf(standing), nil
}

// text is a lease in sentences. It has no relative times.
func (r *leaseRow) text() string {
	switch r.State {
	case leaseFree:
		return fmt.Sprintf("node/%s: nobody holds its lease\n", r.Node)
	case leaseExpired:
		text := fmt.Sprintf("node/%s: its lease is free: %s has stopped without giving it back%s", r.Node, r.holder(), r.what())
		if r.Until != nil {
			text += "\n  expired: " + stamp(r.Until)
		}
		return text + "\n"
	}
	text := fmt.Sprintf("node/%s: its lease is held by %s%s\n", r.Node, r.holder(), r.what())
	if r.Since != nil {
		text += "  since: " + stamp(r.Since) + "\n"
	}
	if r.Administrator {
		return text + "  until: it is given back\n"
	}
	return text + fmt.Sprintf("  until: %s, unless it is renewed; others may take it %s later\n", stamp(r.Until), nodelease.Skew.Round(time.Second))
}

func (r *leaseRow) holder() string {
	if r.Administrator {
		return ui.Clean(r.Holder) + ", an administrator"
	}
	return ui.Clean(r.Holder)
}

func (r *leaseRow) what() string {
	if r.Purpose == "" {
		return ""
	}
	return ": " + ui.Clean(r.Purpose)
}
