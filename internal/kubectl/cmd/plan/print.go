// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"io"
	"strings"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// planPrinter prints a prediction for people.
type planPrinter struct {
	cli.Page
	all bool
}

func printPrediction(out io.Writer, style ui.Style, p plan.Prediction, all bool) error {
	printer := &planPrinter{Page: cli.Page{Out: out, Style: style}, all: all}
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
	return printer.Err
}

func (p *planPrinter) node(n plan.Node) {
	p.Text(ui.Strong, "", n.Name+": "+n.Headline())
	if len(n.Pods) == 0 {
		return
	}
	var rows [][]ui.Cell
	for _, row := range n.Rows(p.all) {
		rows = append(rows, p.row(row))
	}
	p.table(p.header(), rows)
}

// table prints a table. With -o wide it is as wide as it is, as in kubectl.
func (p *planPrinter) table(header []string, rows [][]ui.Cell) {
	style := p.Style
	if p.all {
		style.Width = 0
	}
	p.Columns(style, header, rows)
}

func (p *planPrinter) header() []string {
	if p.all {
		return []string{"STEP", "ROUND", "WHAT", "POD", "OF", "REPLACEMENT", "WHY"}
	}
	return []string{"STEP", "WHAT", "POD", "WHY"}
}

func (p *planPrinter) row(r plan.Row) []ui.Cell {
	what := ui.Cell{Text: r.What(), Tone: ui.Plain}
	if r.Blocks() {
		what.Tone = ui.Bad
	}
	if !p.all {
		return []ui.Cell{{Text: ordinal(r.Step)}, what, {Text: r.Text}, {Text: r.Why()}}
	}
	return []ui.Cell{
		{Text: ordinal(r.Step)},
		{Text: ordinal(r.Round)},
		what,
		{Text: r.Text},
		{Text: cli.OrDash(r.Owner)},
		{Text: whereTo(r.Replacement)},
		{Text: r.Why()},
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
	return cli.Few(all)
}

func (p *planPrinter) replacements(prediction plan.Prediction) {
	r := prediction.Replacements
	if r == nil || r.Total == 0 {
		return
	}
	p.Section("Where replacements could run:")
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

// nothingBlocks says that nothing would block.
func nothingBlocks(caveats []string) string {
	if len(caveats) > 0 {
		return "Nothing would block now, as far as could be read."
	}
	return "Nothing would block now."
}
