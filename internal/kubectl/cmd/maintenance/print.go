// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maintenanceText is one maintenance for people: its state, all its nodes as a picture, those that
// need attention or are out, and what can be done. With all, each node has a line.
func maintenanceText(r *maintenanceRow, style ui.Style, now time.Time, all bool) string {
	var text strings.Builder
	line := func(head, words string) {
		if words != "" {
			fmt.Fprintln(&text, strings.Join(style.Wrap(head, words), "\n"))
		}
	}
	fmt.Fprintln(&text, style.Line(ui.Span{Text: r.Name, Tone: ui.Strong}, ui.Span{Text: ": "},
		ui.Span{Text: r.State, Tone: r.tone}, ui.Span{Text: ", stage " + string(r.Stage) + r.stageSince(now)}))
	line("  ", r.asked())
	line("  ", r.pace())
	line("  ", r.when(now))
	line("  ", r.says())
	line("  ", r.drainText())
	fmt.Fprintln(&text)
	if r.State != maintenanceUnseen {
		line("", r.counted())
	}
	for _, l := range r.mapLines(style) {
		fmt.Fprintln(&text, l)
	}
	r.nodeTable(&text, style, now, all)
	for i, a := range r.next() {
		if i == 0 {
			fmt.Fprintln(&text, "\nWhat you can do:")
		}
		fmt.Fprintf(&text, "  %s:\n", a.what)
		fmt.Fprintln(&text, strings.Join(style.WrapCommand("    ", a.command), "\n"))
	}
	return text.String()
}

func (r *maintenanceRow) stageSince(now time.Time) string {
	for _, s := range r.of.Status.StageStatuses {
		if s.Name == r.Stage {
			return " since " + cli.Ago(&s.StartTimestamp, now)
		}
	}
	return ""
}

// asked is the requester and the reason.
func (r *maintenanceRow) asked() string {
	switch {
	case r.RequestedBy == "":
		return r.Reason
	case r.Reason == "":
		return "requested by " + r.RequestedBy
	default:
		return r.Reason + " (requested by " + r.RequestedBy + ")"
	}
}

func (r *maintenanceRow) counted() string {
	n := r.Nodes
	text := fmt.Sprintf("%s: %d returned, %d out", ui.Count(int(n.Selected), "node", "nodes"), n.Returned, n.Out)
	if n.Drained > 0 {
		text += fmt.Sprintf(" (%d drained)", n.Drained)
	}
	text += fmt.Sprintf(", %d waiting", n.Waiting)
	if n.Failed > 0 {
		text += fmt.Sprintf(", %d failed", n.Failed)
	}
	return text
}

// drainText is the progress of the drain plan.
func (r *maintenanceRow) drainText() string {
	if r.Drain == nil || r.over() {
		return ""
	}
	var parts []string
	if r.Drain.Message != "" {
		parts = append(parts, strings.TrimSuffix(r.Drain.Message, "."))
	}
	if len(r.Drain.Reached) > 0 {
		var targets []string
		for _, t := range r.Drain.Reached {
			targets = append(targets, targetText(t))
		}
		parts = append(parts, "Reached: "+strings.Join(targets, "; "))
	}
	if r.Drain.PodsPending > 0 {
		parts = append(parts, ui.Count(int(r.Drain.PodsPending), "pod remains", "pods remain"))
	}
	return strings.Join(parts, ". ")
}

// targetText is a target of a drain plan.
func targetText(t slipwayv1alpha1.DrainTarget) string {
	text := string(cmp.Or(t.PodType, slipwayv1alpha1.PodTypeDefault))
	if t.PodPriority != nil {
		text += fmt.Sprintf(" up to priority %d", *t.PodPriority)
	}
	if t.PodSelector != nil {
		text += " with labels " + selectorText(t.PodSelector)
	}
	return text
}

// nodeTable prints the nodes that need attention or are out, or all.
func (r *maintenanceRow) nodeTable(text *strings.Builder, style ui.Style, now time.Time, all bool) {
	var rows [][]ui.Cell
	for _, n := range r.NodeStatuses {
		rows = append(rows, []ui.Cell{{Text: n.Name}, {Text: string(n.Phase), Tone: markOf(n.Phase).tone}, {Text: cli.Ago(n.Since, now)}, {Text: cli.OrDash(whyOf(n))}})
	}
	if all {
		for _, n := range r.unlisted() {
			rows = append(rows, []ui.Cell{{Text: n.Name}, {Text: string(n.Phase)}, {Text: "-"}, {Text: "-"}})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(text)
		_ = style.Columns(text, []string{"NODE", "PHASE", "SINCE", "WHY"}, rows) // a Builder takes all
	}
}

// unlisted returns the nodes that the status does not list.
func (r *maintenanceRow) unlisted() []maintenanceNode {
	var all []maintenanceNode
	for _, d := range r.Domains {
		for _, n := range d.Nodes {
			if !slices.ContainsFunc(r.NodeStatuses, func(s slipwayv1alpha1.MaintenanceNodeStatus) bool { return s.Name == n.Name }) {
				all = append(all, n)
			}
		}
	}
	return all
}

// whyOf is what blocks a node, or why it has failed.
func whyOf(n slipwayv1alpha1.MaintenanceNodeStatus) string {
	switch {
	case n.Reason == "":
		return n.Message
	case n.Message == "":
		return n.Reason
	default:
		return n.Reason + ": " + n.Message
	}
}

// maintenanceTable is the list for people, of at least one maintenance.
func maintenanceTable(rows []maintenanceRow, style ui.Style, now time.Time, why bool) string {
	type row = maintenanceRow
	columns := []cli.Column[row]{
		cli.Text("NAME", func(r *row) string { return r.Name }).Short(),
		cli.Toned("STATE", func(r *row) (string, ui.Tone) { return r.State, r.tone }),
		cli.Text("NODES", func(r *row) string { return fmt.Sprint(r.Nodes.Selected) }),
		cli.Text("OUT", func(r *row) string { return fmt.Sprint(r.Nodes.Out) }),
		cli.Text("RETURNED", func(r *row) string { return fmt.Sprint(r.Nodes.Returned) }),
		cli.Toned("FAILED", func(r *row) (string, ui.Tone) {
			if r.Nodes.Failed > 0 {
				return fmt.Sprint(r.Nodes.Failed), ui.Bad
			}
			return "0", ui.Plain
		}),
		cli.Text("AGE", func(r *row) string { return cli.Ago(r.Since, now) }),
		cli.Text("WHO", func(r *row) string { return r.RequestedBy }),
		cli.Text("STAGE", func(r *row) string { return string(r.Stage) }).Under(),
		cli.Text("MESSAGE", (*row).says).Under(),
	}
	if why {
		columns = append(columns, cli.Text("WHY", func(r *row) string { return r.Reason }).Under())
	}
	return cli.Table(style, rows, columns, func(r *row) (texts []string) {
		if says := r.says(); says != "" {
			texts = append(texts, says)
		}
		if why && r.Reason != "" {
			texts = append(texts, "because of: "+r.Reason)
		}
		return texts
	})
}

func (r *maintenanceRow) says() string {
	if r.Outdated && r.Message != "" {
		return r.Message + " (outdated)"
	}
	return r.Message
}
