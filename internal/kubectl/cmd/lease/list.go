// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/nodelease"
)

func newList(t *cli.Tool) *cobra.Command {
	var output *cli.Output
	command := &cobra.Command{
		Use:   "list",
		Short: "Show the nodes whose leases are held",
		Long: `Shows the nodes whose leases are held: the holder, its start, its end (unless the holder renews the
lease), and the purpose. An expired lease is free: its holder stopped without a release, and may have
left the node half done. An administrator's lease never expires.

-o wide adds the times themselves, and the number of changes of the holder. For programs, all formats
except wide include the nodes whose leases are free.`,
		Example: `  kubectl slipway lease list
  kubectl slipway lease list -o custom-columns=NODE:.node,HOLDER:.holder`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			rows, err := readLeases(command.Context(), t)
			if err != nil {
				return err
			}
			return t.Print(output, listView(t, rows))
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

func listView(t *cli.Tool, rows []leaseRow) cli.View {
	var names []string
	for _, r := range rows {
		names = append(names, r.name())
	}
	return cli.View{Value: cli.List(rows), Names: names, Text: func(style ui.Style, wide bool) string {
		return leaseTable(slices.DeleteFunc(slices.Clone(rows), func(r leaseRow) bool { return r.State == leaseFree }), style, t.Clock.Now(), wide)
	}}
}

func newGet(t *cli.Tool) *cobra.Command {
	var output *cli.Output
	command := t.ForNode(&cobra.Command{
		Use:   "get NODE",
		Short: "Show the holder of the lease of a node",
		Long: `Shows the holder of the lease of a node, its start, its end, and the purpose. A free lease is no
error: scripts find free, held or expired in .state. An expired lease is free, too.`,
		Example: `  kubectl slipway lease get worker-1
  kubectl slipway lease get worker-1 -o jsonpath='{.state}'`,
	}, func(ctx context.Context, node string) error {
		l, err := t.Leases()
		if err != nil {
			return err
		}
		if _, err := l.Find(ctx, node); err != nil {
			return err
		}
		standing, err := l.Get(ctx, node)
		if err != nil {
			return leaseTrouble(err)
		}
		row := leaseRowOf(standing)
		return t.Print(output, cli.View{Value: row, Names: []string{row.name()}, Text: func(ui.Style, bool) string { return ui.CleanLines(row.text()) }})
	})
	output = cli.AddShow(command.Flags())
	return command
}

// The states of a lease.
const (
	leaseFree    = "free"
	leaseHeld    = "held"
	leaseExpired = "expired" // free, without a release by its holder
)

// leaseRow is the lease of a node.
type leaseRow struct {
	Node string `json:"node"`
	// State is free, held, or expired.
	State string `json:"state"`
	// Holder is the present holder, or the holder of the expired lease.
	Holder  string `json:"holder,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	// Administrator means that the holder is a person, whose lease never expires.
	Administrator bool         `json:"administrator,omitempty"`
	Since         *metav1.Time `json:"since,omitempty"`
	// Until is its end, unless the holder renews it.
	Until *metav1.Time `json:"until,omitempty"`
	// Transitions counts the changes of the holder.
	Transitions int32 `json:"transitions"`
}

func leaseRowOf(s nodelease.Standing) leaseRow {
	row := leaseRow{
		Node: s.Node, State: leaseFree, Holder: s.Held.Holder, Purpose: s.Held.Purpose, Administrator: s.Held.Administrator,
		Since: timeOf(s.Held.Since), Until: timeOf(s.Held.Until), Transitions: s.Held.Transitions,
	}
	switch {
	case s.Taken:
		row.State = leaseHeld
	case row.Holder != "":
		row.State = leaseExpired
	}
	return row
}

func timeOf(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return new(metav1.NewTime(at.UTC().Truncate(time.Second)))
}

// name returns the name of the Lease in kubectl's format.
func (r *leaseRow) name() string { return "lease.coordination.k8s.io/" + r.Node }

// text describes a lease in sentences, with absolute times.
func (r *leaseRow) text() string {
	holder := r.Holder
	if r.Administrator {
		holder += ", an administrator"
	}
	if r.Purpose != "" {
		holder += ": " + r.Purpose
	}
	holder = ui.Clean(holder)
	switch {
	case r.State == leaseFree:
		return fmt.Sprintf("node/%s: its lease is free\n", r.Node)
	case r.State == leaseExpired && r.Until == nil:
		return fmt.Sprintf("node/%s: its lease is free: it has expired without a release by %s\n", r.Node, holder)
	case r.State == leaseExpired:
		return fmt.Sprintf("node/%s: its lease is free: it has expired without a release by %s\n  expired: %s\n", r.Node, holder, cli.Stamp(r.Until))
	}
	text := fmt.Sprintf("node/%s: its lease is held by %s\n", r.Node, holder)
	if r.Since != nil {
		text += "  since: " + cli.Stamp(r.Since) + "\n"
	}
	if r.Administrator {
		return text + "  until: its release\n"
	}
	return text + fmt.Sprintf("  until: %s, unless the holder renews it; other tools may acquire it %s later\n", cli.Stamp(r.Until), nodelease.Skew.Round(time.Second))
}

// ends describes the end of the lease.
func (r *leaseRow) ends(now time.Time) (string, ui.Tone) {
	switch {
	case r.Administrator:
		return "released", ui.Plain
	case r.State == leaseExpired && r.Until == nil:
		return leaseExpired, ui.Warn
	case r.State == leaseExpired:
		return "expired " + duration.HumanDuration(now.Sub(r.Until.Time)) + " ago", ui.Warn
	default:
		return cli.Until(r.Until, now), ui.Plain
	}
}

// leaseTable lists held and expired leases.
func leaseTable(rows []leaseRow, style ui.Style, now time.Time, wide bool) string {
	if len(rows) == 0 {
		return "No lease of a node is held.\n"
	}
	columns := []cli.Column[leaseRow]{
		cli.Text("NODE", func(r *leaseRow) string { return r.Node }),
		cli.Text("HOLDER", func(r *leaseRow) string { return r.Holder }),
		cli.Text("SINCE", func(r *leaseRow) string { return cli.Ago(r.Since, now) }),
		cli.Toned("UNTIL", func(r *leaseRow) (string, ui.Tone) { return r.ends(now) }),
	}
	if wide {
		columns = append(columns,
			cli.Under("SINCE (UTC)", func(r *leaseRow) string { return cli.Stamp(r.Since) }),
			cli.Under("UNTIL (UTC)", func(r *leaseRow) string { return cli.Stamp(r.Until) }),
			cli.Under("TRANSITIONS", func(r *leaseRow) string { return strconv.Itoa(int(r.Transitions)) }))
	}
	return cli.Table(style, rows, append(columns, cli.Under("PURPOSE", func(r *leaseRow) string { return r.Purpose })))
}
