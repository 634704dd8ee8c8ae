// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/nodelease"
)

// The states of a lease.
const (
	leaseFree    = "free"
	leaseHeld    = "held"
	leaseExpired = "expired" // free; its holder has not given it back
)

// leaseRow is the lease of a node.
type leaseRow struct {
	Node string `json:"node"`
	// State is free, held, or expired.
	State string `json:"state"`
	// Holder holds the lease, or has let it expire.
	Holder  string `json:"holder,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	// Administrator means that the holder is a person, and the lease does not expire.
	Administrator bool         `json:"administrator,omitempty"`
	Since         *metav1.Time `json:"since,omitempty"`
	// Until is when it expires, unless it is renewed.
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

// ends says until when the lease is held.
func (r *leaseRow) ends(now time.Time) (string, ui.Tone) {
	switch {
	case r.State == leaseFree:
		return "-", ui.Faint
	case r.Administrator:
		return "given back", ui.Plain
	case r.State == leaseExpired && r.Until == nil:
		return leaseExpired, ui.Warn
	case r.State == leaseExpired:
		return "expired " + duration.HumanDuration(now.Sub(r.Until.Time)) + " ago", ui.Warn
	default:
		return cli.Until(r.Until, now), ui.Plain
	}
}

// leaseTable is for people.
func leaseTable(rows []leaseRow, style ui.Style, now time.Time, wide bool) string {
	columns := []cli.Column[leaseRow]{
		cli.Text("NODE", func(r *leaseRow) string { return r.Node }),
		cli.Text("HOLDER", func(r *leaseRow) string { return r.Holder }).Short(),
		cli.Text("SINCE", func(r *leaseRow) string { return cli.Ago(r.Since, now) }),
		cli.Toned("UNTIL", func(r *leaseRow) (string, ui.Tone) { return r.ends(now) }),
	}
	if wide {
		columns = append(columns,
			cli.Text("SINCE (UTC)", func(r *leaseRow) string { return stamp(r.Since) }).Under(),
			cli.Text("UNTIL (UTC)", func(r *leaseRow) string { return stamp(r.Until) }).Under(),
			cli.Text("TRANSITIONS", func(r *leaseRow) string { return strconv.Itoa(int(r.Transitions)) }).Under())
	}
	columns = append(columns, cli.Text("PURPOSE", func(r *leaseRow) string { return r.Purpose }).Under())
	return cli.Table(style, rows, columns, func(r *leaseRow) (texts []string) {
		if r.Purpose != "" {
			texts = append(texts, r.Purpose)
		}
		if wide {
			texts = append(texts, fmt.Sprintf("since %s, until %s, %s", cli.OrDash(stamp(r.Since)), cli.OrDash(stamp(r.Until)),
				ui.Count(int(r.Transitions), "transition", "transitions")))
		}
		return texts
	})
}

func stamp(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
