// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/nodelease"
)

func newLeaseList(t *cli.Tool) *cobra.Command {
	var output *cli.Output
	command := &cobra.Command{
		Use:   "list",
		Short: "Show the nodes whose leases are held",
		Long: `Shows the nodes whose leases are held: the holder, since when and until when (unless it is
renewed), and the purpose. Look here before an upgrade of the cluster, or before a maintenance.

An expired lease is free: its holder has stopped without giving it back, and may have left the
node half done. An administrator's lease ends when it is given back.

-o wide adds the times themselves, and how often the holder changed. For programs, all formats
but wide include the nodes whose leases were given back.`,
		Example: `  kubectl slipway lease list
  kubectl slipway lease list -o custom-columns=NODE:.node,HOLDER:.holder
  kubectl slipway lease list -o json | jq -r '.items[] | select(.state == "held") | .node'`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			rows, err := readLeases(command.Context(), t)
			if err != nil {
				return err
			}
			return showLeases(t, output, rows)
		},
	}
	output = cli.AddShow(command.Flags())
	return command
}

func readLeases(ctx context.Context, t *cli.Tool) ([]leaseRow, error) {
	l, err := t.Leases()
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

func showLeases(t *cli.Tool, o *cli.Output, rows []leaseRow) error {
	var names []string
	for _, r := range rows {
		names = append(names, r.name())
	}
	return t.Print(o, cli.View{Value: cli.List(rows), Names: names, Human: func(out io.Writer, style ui.Style, wide bool) error {
		taken := slices.DeleteFunc(slices.Clone(rows), func(r leaseRow) bool { return r.State == leaseFree })
		text := "No lease of a node is held.\n"
		if len(taken) > 0 {
			text = leaseTable(taken, style, t.Clock.Now(), wide)
		}
		_, err := fmt.Fprint(out, text)
		return err
	}})
}

func newLeaseGet(t *cli.Tool) *cobra.Command {
	var output *cli.Output
	command := &cobra.Command{
		Use:   "get NODE",
		Short: "Show who holds the lease of a node",
		Long: `Shows the holder of the lease of a node, since when, until when, and the purpose; or that it is
free. That is no error: scripts find free, held or expired in .state. An expired lease is free,
too: its holder has stopped without giving it back.`,
		Example: `  kubectl slipway lease get worker-1
  kubectl slipway lease get worker-1 -o jsonpath='{.state}'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.CompleteNodes(1),
		RunE: func(command *cobra.Command, args []string) error {
			row, err := readLease(command.Context(), t, args)
			if err != nil {
				return err
			}
			return t.Print(output, cli.View{Value: row, Names: []string{row.name()}, Human: func(out io.Writer, _ ui.Style, _ bool) error {
				_, err := fmt.Fprint(out, ui.CleanLines(row.text()))
				return err
			}})
		},
	}
	output = cli.AddShow(command.Flags())
	return command
}

// name is the Lease as kubectl names it.
func (r *leaseRow) name() string { return "lease.coordination.k8s.io/" + r.Node }

func readLease(ctx context.Context, t *cli.Tool, args []string) (leaseRow, error) {
	node, err := cli.OneNode(args)
	if err != nil {
		return leaseRow{}, err
	}
	l, err := t.Leases()
	if err != nil {
		return leaseRow{}, err
	}
	if err := l.Find(ctx, node); err != nil {
		return leaseRow{}, err
	}
	standing, err := l.Get(ctx, node)
	if err != nil {
		return leaseRow{}, leaseTrouble(err)
	}
	return leaseRowOf(standing), nil
}

// text describes a lease in sentences, with absolute times.
func (r *leaseRow) text() string {
	switch r.State {
	case leaseFree:
		return fmt.Sprintf("node/%s: its lease is free\n", r.Node)
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
