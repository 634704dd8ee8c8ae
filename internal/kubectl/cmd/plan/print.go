// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// planPrinter describes a prediction.
type planPrinter struct {
	cli.Page
	all bool
}

func predictionText(style ui.Style, p plan.Prediction, all bool) string {
	printer := &planPrinter{Page: cli.Page{Style: style}, all: all}
	for i, n := range p.Nodes {
		if i > 0 {
			printer.Line("")
		}
		printer.node(n)
	}
	if p.Blocks() {
		printer.remarks("Would block now:", p.Blocked())
	} else {
		printer.Section(nothingBlocks(p.Caveats))
	}
	printer.remarks("Would be lost:", p.Lost())
	printer.replacements(p)
	printer.List("Not sure, because you may not read everything:", ui.Warn, p.Caveats)
	printer.List("Not looked at:", ui.Faint, p.NotLookedAt)
	return printer.String()
}

func (p *planPrinter) node(n plan.Node) {
	p.Text(ui.Strong, "", n.Name+": "+n.Headline())
	if len(n.Pods) == 0 {
		return
	}
	header := ui.Header("STEP", "WHAT", "POD", "WHY")
	if p.all {
		header = ui.Header("STEP", "ROUND", "WHAT", "POD", "OF", "REPLACEMENT", "WHY")
	}
	rows := [][]ui.Cell{header}
	for _, row := range n.Rows(p.all) {
		rows = append(rows, p.row(row))
	}
	p.table(rows)
}

// table adds a table. As in kubectl, -o wide does not fit it into the terminal.
func (p *planPrinter) table(rows [][]ui.Cell) {
	style := p.Style
	if p.all {
		style.Width = 0
	}
	p.Line("")
	p.Add(style.Columns(rows))
}

func (p *planPrinter) row(r plan.Row) []ui.Cell {
	what := ui.Cell{Text: r.Action(), Tone: ui.Plain}
	if r.Blocks() {
		what.Tone = ui.Bad
	}
	if !p.all {
		return []ui.Cell{{Text: ordinal(r.Step)}, what, {Text: r.Text}, {Text: r.Why()}}
	}
	return []ui.Cell{
		{Text: ordinal(r.Step)}, {Text: ordinal(r.Round)}, what, {Text: r.Text}, {Text: cli.OrDash(r.Owner)}, {Text: whereTo(r.Replacement)}, {Text: r.Why()},
	}
}

func ordinal(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func whereTo(r *plan.Replacement) string {
	switch {
	case r == nil:
		return "-"
	case r.Node == "":
		return "nowhere"
	default:
		return r.Node
	}
}

// remarks prints remarks about pods.
func (p *planPrinter) remarks(title string, all plan.Remarks) {
	if len(all) == 0 {
		return
	}
	p.Section(title)
	for _, r := range all {
		p.Text(ui.Plain, "   - ", p.few(r.Pods)+": "+r.Text)
	}
}

// few names the first few of several things, or all with -o wide.
func (p *planPrinter) few(all []string) string {
	if p.all {
		return strings.Join(all, ", ")
	}
	return cli.Few(all, 4)
}

func (p *planPrinter) replacements(prediction plan.Prediction) {
	r := prediction.Replacements
	if r == nil || r.Total == 0 {
		return
	}
	p.Section("Nodes for replacements:")
	var on []string
	for _, s := range r.Fit {
		on = append(on, fmt.Sprintf("%d on %s", s.Pods, s.Node))
	}
	if len(on) > 0 {
		p.Text(ui.Plain, "   - ", fmt.Sprintf("%d of %d fit, such as %s", r.Total-r.Nowhere, r.Total, p.few(on)))
	}
	for _, remark := range prediction.Nowhere() {
		p.Text(ui.Bad, "   - ", fmt.Sprintf("nowhere %s: %s", p.few(remark.Pods), remark.Text))
	}
}

// nothingBlocks reports a plan without blockers.
func nothingBlocks(caveats []string) string {
	if len(caveats) > 0 {
		return "No blockers now, as far as could be read."
	}
	return "No blockers now."
}
