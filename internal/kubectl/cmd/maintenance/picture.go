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

// marks are in the order in which a node passes the phases.
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

// mapLines draws each node as a character, with lines for each domain, and a legend.
func (r *maintenanceRow) mapLines(style ui.Style) (lines []string) {
	const widestHead, narrowest, tail = 24, 20, len("  9999 of 9999 back")
	width, head, longest := 100, 0, 0
	if style.Width > 0 {
		width = style.Width
	}
	for _, d := range r.Domains {
		head = min(max(head, utf8.RuneCountInString(r.heading(d))), widestHead)
		longest = max(longest, len(d.Nodes))
	}
	room := min(max(width-head-3-tail, narrowest), longest)
	counts := map[string]int{}
	for _, d := range r.Domains {
		heading := ui.Clip(r.heading(d), head)
		returned := 0
		for _, n := range d.Nodes {
			counts[markOf(n.Phase).sign]++
			if n.Phase == slipwayv1alpha1.NodeReturned {
				returned++
			}
		}
		suffix := fmt.Sprintf("  %d of %d back", returned, len(d.Nodes))
		for part := range slices.Chunk(d.Nodes, room) {
			if suffix != "" {
				suffix = strings.Repeat(" ", room-len(part)) + suffix
			}
			lines = append(lines, "  "+heading+strings.Repeat(" ", head-utf8.RuneCountInString(heading)+2)+painted(style, part)+suffix)
			heading, suffix = "", ""
		}
	}
	var legend []string
	for _, m := range marks {
		if n := counts[m.sign]; n > 0 {
			legend = append(legend, fmt.Sprintf("%s %d %s", m.sign, n, m.word))
		}
	}
	if len(legend) > 0 {
		for _, line := range style.Wrap("  ", strings.Join(legend, ",  ")) {
			lines = append(lines, style.Paint(ui.Faint, line))
		}
	}
	return lines
}

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

// painted returns the signs of nodes, with one color for neighbors of the same tone.
func painted(style ui.Style, nodes []maintenanceNode) string {
	text, run, tone := "", "", ui.Plain
	for _, n := range nodes {
		m := markOf(n.Phase)
		if m.tone != tone {
			text, run, tone = text+style.Paint(tone, run), "", m.tone
		}
		run += m.sign
	}
	return text + style.Paint(tone, run)
}
