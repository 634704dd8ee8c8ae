// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maintenanceText is one maintenance for people: how it is, all its nodes as a picture, those
// that need attention or are out, and what can be done. With all, each node has a line.
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
			return " since " + ago(&s.StartTimestamp, now)
		}
	}
	return ""
}

// asked is who asked, and why.
func (r *maintenanceRow) asked() string {
	switch {
	case r.RequestedBy == "":
		return r.Reason
	case r.Reason == "":
		return "asked for by " + r.RequestedBy
	default:
		return r.Reason + " (asked for by " + r.RequestedBy + ")"
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

// drainText is how far the drain plan is.
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
		parts = append(parts, ui.Count(int(r.Drain.PodsPending), "pod is", "pods are")+" still to leave")
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

// nodeTable are the nodes that need attention or are out, or all.
func (r *maintenanceRow) nodeTable(text *strings.Builder, style ui.Style, now time.Time, all bool) {
	rows := [][]ui.Cell{cells([]string{"NODE", "PHASE", "SINCE", "WHY"}, ui.Strong)}
	for _, n := range r.NodeStatuses {
		row := cells([]string{n.Name, string(n.Phase), ago(n.Since, now), orDash(whyOf(n))}, ui.Plain)
		row[1].Tone = markOf(n.Phase).tone
		rows = append(rows, row)
	}
	if all {
		for _, n := range r.unlisted() {
			rows = append(rows, cells([]string{n.Name, string(n.Phase), "-", "-"}, ui.Plain))
		}
	}
	if len(rows) == 1 {
		return
	}
	fmt.Fprintln(text)
	_ = style.Rows(text, rows) // a Builder takes all
}

// unlisted are the nodes that the status does not list.
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

// whyOf is what holds a node up, or why it has failed.
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
