// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maintenanceTable is the list for people, of at least one maintenance. Where the table would
// be wider than the terminal, what a maintenance says is below its line.
func maintenanceTable(rows []maintenanceRow, style ui.Style, now time.Time, why bool) string {
	full := maintenanceCells(rows, now, true, why)
	if style.Fits(full) {
		return strings.Join(style.Table(full, 0), "\n") + "\n"
	}
	lines := style.Table(maintenanceCells(rows, now, false, false), 0)
	var text strings.Builder
	fmt.Fprintln(&text, lines[0])
	for i := range rows {
		fmt.Fprintln(&text, lines[i+1])
		for _, line := range rows[i].below(style, why) {
			fmt.Fprintln(&text, style.Paint(ui.Faint, line))
		}
	}
	return text.String()
}

func maintenanceCells(rows []maintenanceRow, now time.Time, messages, why bool) [][]ui.Cell {
	header := []string{"NAME", "STATE", "NODES", "OUT", "RETURNED", "FAILED", "AGE", "WHO"}
	if messages {
		header = append(header, "STAGE", "MESSAGE")
	}
	if why {
		header = append(header, "WHY")
	}
	table := [][]ui.Cell{cells(header, ui.Strong)}
	for i := range rows {
		r := &rows[i]
		texts := []string{
			r.Name, r.State, fmt.Sprint(r.Nodes.Selected), fmt.Sprint(r.Nodes.Out), fmt.Sprint(r.Nodes.Returned),
			fmt.Sprint(r.Nodes.Failed), ago(r.Since, now), orDash(r.RequestedBy),
		}
		if messages {
			texts = append(texts, string(r.Stage), orDash(r.says()))
		}
		if why {
			texts = append(texts, orDash(r.Reason))
		}
		row := cells(texts, ui.Plain)
		row[1].Tone = r.tone
		if r.Nodes.Failed > 0 {
			row[5].Tone = ui.Bad
		}
		table = append(table, row)
	}
	return table
}

// below are the lines below that of a maintenance.
func (r *maintenanceRow) below(style ui.Style, why bool) []string {
	const most = 2
	var lines []string
	if says := r.says(); says != "" {
		lines = append(lines, style.WrapAtMost("  ", says, most)...)
	}
	if why && r.Reason != "" {
		lines = append(lines, style.WrapAtMost("  ", "because of: "+r.Reason, most)...)
	}
	return lines
}

func (r *maintenanceRow) says() string {
	if r.Outdated && r.Message != "" {
		return r.Message + " (outdated)"
	}
	return r.Message
}
