// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/nodelease"
)

// How it stands with a lease.
const (
	leaseFree    = "free"
	leaseHeld    = "held"
	leaseExpired = "expired" // free, and its holder has not given it back
)

// leaseRow is the lease of a node, for programs as well.
type leaseRow struct {
	Node string `json:"node"`
	// State is free, held, or expired.
	State string `json:"state"`
	// Holder holds it, or has let it expire.
	Holder  string `json:"holder,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	// Administrator: the holder is a person, and the lease does not expire.
	Administrator bool         `json:"administrator,omitempty"`
	Since         *metav1.Time `json:"since,omitempty"`
	// Until is when it expires, unless it is renewed.
	Until *metav1.Time `json:"until,omitempty"`
	// Transitions counts how often it went from one holder to another.
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

// ends is until when, for people.
func (r *leaseRow) ends(now time.Time) ui.Cell {
	switch {
	case r.State == leaseFree:
		return ui.Cell{Text: "-", Tone: ui.Faint}
	case r.Administrator:
		return ui.Cell{Text: "given back"}
	case r.State == leaseExpired && r.Until == nil:
		return ui.Cell{Text: "expired", Tone: ui.Warn}
	case r.State == leaseExpired:
		return ui.Cell{Text: "expired " + duration.HumanDuration(now.Sub(r.Until.Time)) + " ago", Tone: ui.Warn}
	default:
		return ui.Cell{Text: until(r.Until, now)}
	}
}

// leaseTable is for people. Where the table would be wider than the terminal, what a holder
// says for itself is below its line.
func leaseTable(rows []leaseRow, style ui.Style, now time.Time, wide bool) string {
	full := leaseCells(rows, now, wide, true)
	if style.Fits(full) {
		return strings.Join(style.Table(full, 0), "\n") + "\n"
	}
	const holder = 1 // its column
	lines := style.Table(leaseCells(rows, now, false, false), holder)
	text := lines[0] + "\n"
	for i := range rows {
		text += lines[i+1] + "\n"
		for _, line := range rows[i].below(style, wide) {
			text += style.Paint(ui.Faint, line) + "\n"
		}
	}
	return text
}

// below are the lines below that of a node.
func (r *leaseRow) below(style ui.Style, wide bool) (lines []string) {
	const most = 2
	if r.Purpose != "" {
		lines = style.WrapAtMost("  ", r.Purpose, most)
	}
	if wide {
		text := fmt.Sprintf("since %s, until %s, %s", orDash(stamp(r.Since)), orDash(stamp(r.Until)), ui.Count(int(r.Transitions), "transition", "transitions"))
		lines = append(lines, style.WrapAtMost("  ", text, most)...)
	}
	return lines
}

func leaseCells(rows []leaseRow, now time.Time, wide, purposes bool) [][]ui.Cell {
	header := []string{"NODE", "HOLDER", "SINCE", "UNTIL"}
	if wide {
		header = append(header, "SINCE (UTC)", "UNTIL (UTC)", "TRANSITIONS")
	}
	if purposes {
		header = append(header, "PURPOSE")
	}
	table := [][]ui.Cell{cells(header, ui.Strong)}
	for i := range rows {
		r := &rows[i]
		row := []ui.Cell{{Text: r.Node}, dashed(r.Holder), dashed(ago(r.Since, now)), r.ends(now)}
		if wide {
			row = append(row, dashed(stamp(r.Since)), dashed(stamp(r.Until)), ui.Cell{Text: strconv.Itoa(int(r.Transitions))})
		}
		if purposes {
			row = append(row, dashed(r.Purpose))
		}
		table = append(table, row)
	}
	return table
}

func stamp(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
