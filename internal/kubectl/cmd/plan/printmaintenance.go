// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/forecast"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func forecastText(style ui.Style, f forecast.Forecast, all bool) string {
	p := &planPrinter{Page: cli.Page{Style: style}, all: all}
	p.Text(ui.Strong, "", f.Headline())
	p.List("It does not begin before:", ui.Plain, f.Conditions)
	p.batches(f)
	p.about("Between batches:", f.Between())
	if f.Deadline != nil {
		p.Section("No node begins after " + f.Deadline.UTC().Format(time.RFC3339) + " (spec.window.deadline). The progress until then depends on the duration of each drain.")
	}
	if blocked := f.Blocked(); len(blocked) > 0 {
		p.about("Would block now:", blocked)
	} else if text := nothingForecast(f); text != "" {
		p.Section(text)
	}
	p.about("Cannot unblock by itself:", f.Never())
	p.about("Replacements without room:", f.Nowhere())
	p.about("Notes:", f.NodeNotes())
	p.about("In no batch:", f.NotBegun())
	if f.Unselected > 0 {
		p.Line("")
		p.Text(ui.Plain, "", ui.Count(f.Unselected, "other node of the cluster is", "other nodes of the cluster are")+" not selected.")
	}
	p.List("Not sure, because you may not read everything:", ui.Warn, f.Caveats)
	p.List("Not looked at:", ui.Faint, f.NotLookedAt)
	return p.String()
}

// nothingForecast reports a forecast without blockers, if that is known and there are pods.
func nothingForecast(f forecast.Forecast) string {
	switch known := slices.ContainsFunc(f.Rows(false), func(r forecast.Row) bool { return r.Known }); {
	case !known, f.Blocks():
		return ""
	default:
		return nothingBlocks(f.Caveats)
	}
}

// batches prints the table of batches.
func (p *planPrinter) batches(f forecast.Forecast) {
	if len(f.Batches) == 0 {
		return
	}
	header := ui.Header("BATCH", "NODES", "PODS", "BLOCKED", "WHICH")
	if f.TopologyKey != "" {
		last := f.TopologyKey[strings.LastIndex(f.TopologyKey, "/")+1:] // such as zone
		header = slices.Insert(header, 1, ui.Header(strings.ToUpper(last))...)
	}
	rows := [][]ui.Cell{header}
	for _, row := range f.Rows(p.all) {
		cells := []ui.Cell{{Text: batchNumbers(row)}, {Text: nodeCount(row)}, {Text: podCount(row)}, blockedCount(row), {Text: p.which(row)}}
		if f.TopologyKey != "" {
			cells = slices.Insert(cells, 1, ui.Cell{Text: domains(row.Domains)})
		}
		rows = append(rows, cells)
	}
	p.table(rows)
}

func batchNumbers(r forecast.Row) string {
	if r.From == r.To {
		return fmt.Sprint(r.From)
	}
	return fmt.Sprintf("%d to %d", r.From, r.To)
}

func domains(values []string) string {
	const most = 3
	if len(values) > most {
		return fmt.Sprintf("%d of them", len(values))
	}
	named := make([]string, len(values))
	for i, value := range values {
		if named[i] = value; value == "" {
			named[i] = "(none)"
		}
	}
	return strings.Join(named, ", ")
}

func nodeCount(r forecast.Row) string {
	if r.From == r.To {
		return fmt.Sprint(r.Each)
	}
	return fmt.Sprintf("%d, %d each", len(r.Names), r.Each)
}

func podCount(r forecast.Row) string {
	if !r.Known {
		return "?"
	}
	return fmt.Sprint(r.Leave)
}

func blockedCount(r forecast.Row) ui.Cell {
	switch {
	case !r.Known:
		return ui.Cell{Text: "?"}
	case r.Blocked == 0:
		return ui.Cell{Text: "-"}
	default:
		return ui.Cell{Text: ui.Count(r.Blocked, "node", "nodes"), Tone: ui.Bad}
	}
}

func (p *planPrinter) which(r forecast.Row) string {
	text := forecast.Names(r.Names, p.all)
	if r.ControlPlane {
		text += " (control plane)"
	}
	return text
}

// about prints remarks about nodes, and some of their pods.
func (p *planPrinter) about(title string, all plan.Remarks) {
	if len(all) == 0 {
		return
	}
	p.Section(title)
	for _, r := range all {
		of := forecast.Names(r.Nodes, p.all)
		if len(r.Pods) > 0 {
			of = p.few(r.Pods) + " on " + of
		}
		p.Text(ui.Plain, "   - ", of+": "+r.Text)
	}
}
