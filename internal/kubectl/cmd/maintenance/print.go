// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maintenanceText describes one maintenance: its state, all its nodes as a picture, the nodes that
// need attention or are out of service, and remedies. With all, each node has a line.
func maintenanceText(r *maintenanceRow, style ui.Style, now time.Time, all bool) string {
	p := cli.Page{Style: style}
	p.Line(style.Line(ui.Span{Text: r.Name, Tone: ui.Strong}, ui.Span{Text: ": "},
		ui.Span{Text: string(r.State), Tone: r.tone}, ui.Span{Text: ", stage " + string(r.Stage) + r.stageSince(now)}))
	for _, text := range []string{r.asked(), r.pace(), r.when(now), r.says(), r.drainText()} {
		if text != "" {
			p.Text(ui.Plain, "  ", text)
		}
	}
	p.Line("")
	if r.State != notBegun {
		p.Text(ui.Plain, "", r.counted())
	}
	for _, l := range r.mapLines(style) {
		p.Line(l)
	}
	if rows := r.nodeRows(now, all); len(rows) > 1 {
		p.Columns(rows)
	}
	for i, a := range r.next() {
		if i == 0 {
			p.Line("\nWhat you can do:")
		}
		p.Line("  " + a.what + ":")
		p.Line(strings.Join(style.WrapCommand("    ", a.command), "\n"))
	}
	return p.String()
}

func (r *maintenanceRow) stageSince(now time.Time) string {
	for _, s := range r.of.Status.StageStatuses {
		if s.Name == r.Stage {
			return " since " + cli.Ago(&s.StartTimestamp, now)
		}
	}
	return ""
}

// asked returns the reason and the requester.
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

// pace describes the rollout and the work.
func (r *maintenanceRow) pace() string {
	rollout := r.of.Spec.Rollout
	if rollout == nil {
		return "All nodes together"
	}
	text := "At most 1 node out of service at a time"
	if most := rollout.MaxUnavailable; most != nil && most.String() != "1" {
		text = fmt.Sprintf("At most %s of the nodes out of service at a time", most)
	}
	switch {
	case rollout.MaxUnavailable == nil && rollout.PerDomain != nil:
		text = fmt.Sprintf("At most %d of each %s out of service at a time", *rollout.PerDomain, rollout.TopologyKey)
	case rollout.TopologyKey != "" && rollout.PerDomain != nil:
		text += fmt.Sprintf(", and %d of each %s", *rollout.PerDomain, rollout.TopologyKey)
	case rollout.TopologyKey != "":
		text += fmt.Sprintf(", one %s after the other", rollout.TopologyKey)
	}
	if rollout.Batches {
		text += ", in batches"
	}
	if rollout.PauseAfter != nil {
		text += fmt.Sprintf(", pause after %d", *rollout.PauseAfter)
	}
	return text + ". Work: " + r.workText()
}

func (r *maintenanceRow) workText() string {
	work := r.of.Spec.Work
	text := map[slipwayv1alpha1.WorkType]string{slipwayv1alpha1.WorkManual: "by hand", slipwayv1alpha1.WorkNone: "none"}[workOf(r.of)]
	if text == "" {
		text = "a Job of PodTemplate " + work.PodTemplate
	}
	if work != nil && work.Timeout != nil {
		text += fmt.Sprintf(", within %s", work.Timeout.Duration)
	}
	return text
}

// when describes the present and future parts of the window.
func (r *maintenanceRow) when(now time.Time) string {
	window := r.of.Spec.Window
	if window == nil || r.over() {
		return ""
	}
	var parts []string
	if at := window.NotBefore; at != nil && at.After(now) {
		parts = append(parts, fmt.Sprintf("Begins at %s (%s)", cli.Stamp(at), cli.Until(at, now)))
	}
	if at := window.Deadline; at != nil {
		parts = append(parts, fmt.Sprintf("No node begins after %s (%s)", cli.Stamp(at), cli.Until(at, now)))
	}
	return strings.Join(parts, ". ")
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

// drainText describes the progress of the drain plan.
func (r *maintenanceRow) drainText() string {
	if r.Drain == nil || r.over() {
		return ""
	}
	var parts, targets []string
	if r.Drain.Message != "" {
		parts = append(parts, strings.TrimSuffix(r.Drain.Message, "."))
	}
	for _, t := range r.Drain.Reached {
		targets = append(targets, targetText(t))
	}
	if len(targets) > 0 {
		parts = append(parts, "Reached: "+strings.Join(targets, "; "))
	}
	if r.Drain.PodsPending > 0 {
		parts = append(parts, ui.Count(int(r.Drain.PodsPending), "pod remains", "pods remain"))
	}
	return strings.Join(parts, ". ")
}

func targetText(t slipwayv1alpha1.DrainTarget) string {
	text := string(cmp.Or(t.PodType, slipwayv1alpha1.PodTypeDefault))
	if t.PodPriority != nil {
		text += fmt.Sprintf(" up to priority %d", *t.PodPriority)
	}
	if t.PodSelector != nil {
		text += " with labels " + metav1.FormatLabelSelector(t.PodSelector)
	}
	return text
}

// nodeRows returns a table of the nodes that need attention or are out of service, or of all.
func (r *maintenanceRow) nodeRows(now time.Time, all bool) [][]ui.Cell {
	rows := [][]ui.Cell{ui.Header("NODE", "PHASE", "SINCE", "WHY")}
	for _, n := range r.NodeStatuses {
		why := whyOf(n)
		if n.PodsEvacuating > 0 {
			why = strings.TrimSuffix(ui.Count(int(n.PodsEvacuating), "pod remains", "pods remain")+". "+why, ". ")
		}
		rows = append(rows, []ui.Cell{{Text: n.Name}, {Text: string(n.Phase), Tone: markOf(n.Phase).tone}, {Text: cli.Ago(n.Since, now)}, {Text: cli.OrDash(why)}})
	}
	for _, d := range r.Domains {
		for _, n := range d.Nodes {
			if all && !slices.ContainsFunc(r.NodeStatuses, func(s slipwayv1alpha1.MaintenanceNodeStatus) bool { return s.Name == n.Name }) {
				rows = append(rows, []ui.Cell{{Text: n.Name}, {Text: string(n.Phase)}, {Text: "-"}, {Text: "-"}})
			}
		}
	}
	return rows
}

// whyOf returns the blocker of a node, or the reason of its failure.
func whyOf(n slipwayv1alpha1.MaintenanceNodeStatus) string {
	if n.Reason == "" || n.Message == "" {
		return n.Reason + n.Message
	}
	return n.Reason + ": " + n.Message
}

// maintenanceTable lists maintenances.
func maintenanceTable(rows []maintenanceRow, style ui.Style, now time.Time, wide bool) string {
	type row = maintenanceRow
	if len(rows) == 0 {
		return noMaintenances
	}
	columns := []cli.Column[row]{
		cli.Text("NAME", func(r *row) string { return r.Name }),
		cli.Toned("STATE", func(r *row) (string, ui.Tone) { return string(r.State), r.tone }),
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
		cli.Under("STAGE", func(r *row) string { return string(r.Stage) }),
		cli.Under("MESSAGE", (*row).says),
	}
	if wide {
		columns = append(columns, cli.Under("WHY", func(r *row) string { return r.Reason }))
	}
	return cli.Table(style, rows, columns)
}

func (r *maintenanceRow) says() string {
	if r.Outdated && r.Message != "" {
		return r.Message + " (outdated)"
	}
	return r.Message
}
