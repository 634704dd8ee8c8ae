// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// mark draws a phase as one character, so that hundreds of nodes fit on a screen.
type mark struct {
	phase slipwayv1alpha1.MaintenanceNodePhase
	sign  string
	word  string
	tone  ui.Tone
}

// marks are in the order of the legend: the way of a node.
var marks = []mark{
	{slipwayv1alpha1.NodeWaiting, ".", "waiting", ui.Faint},
	{slipwayv1alpha1.NodeHeld, "h", "held", ui.Warn},
	{slipwayv1alpha1.NodeDraining, "d", "draining", ui.Plain},
	{slipwayv1alpha1.NodeDrained, "D", "drained", ui.Plain},
	{slipwayv1alpha1.NodeWorking, "w", "working", ui.Plain},
	{slipwayv1alpha1.NodeReturning, "r", "returning", ui.Plain},
	{slipwayv1alpha1.NodeUnhealthy, "u", "not healthy", ui.Warn},
	{slipwayv1alpha1.NodeReturned, "+", "returned", ui.Good},
	{slipwayv1alpha1.NodeFailed, "!", "failed", ui.Bad},
}

func markOf(phase slipwayv1alpha1.MaintenanceNodePhase) mark {
	i := slices.IndexFunc(marks, func(m mark) bool { return m.phase == phase })
	if i < 0 {
		return mark{phase, "?", string(phase), ui.Warn}
	}
	return marks[i]
}

// mapLines draws the nodes of the domains, a character for each, in the order of their names.
func (r *maintenanceRow) mapLines(style ui.Style) []string {
	const widestHead, narrowest = 24, 20
	head := 0
	for _, d := range r.Domains {
		head = max(head, utf8.RuneCountInString(r.heading(d)))
	}
	head = min(head, widestHead)
	width := 100
	if style.Width > 0 {
		width = style.Width
	}
	tail := len(" 9999 of 9999 back")
	room, longest := max(width-2-head-2-tail, narrowest), 0
	for _, d := range r.Domains {
		longest = max(longest, len(d.Nodes))
	}
	var lines []string
	for _, d := range r.Domains {
		lines = append(lines, r.domainLines(style, d, head, min(room, longest))...)
	}
	return append(lines, r.legend(style)...)
}

// heading of a domain.
func (r *maintenanceRow) heading(d maintenanceDomain) string {
	switch {
	case r.of.Spec.Rollout == nil || r.of.Spec.Rollout.TopologyKey == "":
		return "nodes"
	case d.Value == "":
		return "(none)"
	default:
		return ui.Clean(d.Value)
	}
}

func (r *maintenanceRow) domainLines(style ui.Style, d maintenanceDomain, head, room int) []string {
	heading := ui.Clip(r.heading(d), head)
	returned := 0
	for _, n := range d.Nodes {
		if n.Phase == slipwayv1alpha1.NodeReturned {
			returned++
		}
	}
	var lines []string
	for part := range slices.Chunk(d.Nodes, room) {
		line := "  " + heading + strings.Repeat(" ", head-utf8.RuneCountInString(heading)+2) + painted(style, part)
		if len(lines) == 0 {
			line += strings.Repeat(" ", room-len(part)) + fmt.Sprintf("  %d of %d back", returned, len(d.Nodes))
		}
		lines, heading = append(lines, line), ""
	}
	return lines
}

// painted returns the signs of nodes, with one color for those of the same tone.
func painted(style ui.Style, nodes []maintenanceNode) string {
	var text, run strings.Builder
	tone := ui.Plain
	end := func() {
		text.WriteString(style.Paint(tone, run.String()))
		run.Reset()
	}
	for _, n := range nodes {
		m := markOf(n.Phase)
		if m.tone != tone {
			end()
			tone = m.tone
		}
		run.WriteString(m.sign)
	}
	end()
	return text.String()
}

// legend explains the signs that are drawn, with their counts.
func (r *maintenanceRow) legend(style ui.Style) []string {
	counts := map[string]int{}
	for _, d := range r.Domains {
		for _, n := range d.Nodes {
			counts[markOf(n.Phase).sign]++
		}
	}
	var parts []string
	for _, m := range marks {
		if n := counts[m.sign]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d %s", m.sign, n, m.word))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	var lines []string
	for _, line := range style.Wrap("  ", strings.Join(parts, ",  ")) {
		lines = append(lines, style.Paint(ui.Faint, line))
	}
	return lines
}
