// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// hindrance is what holds up one object or several.
type hindrance struct {
	lifecyclev1alpha1.Blocker // the first
	count                     int
}

// hindrances are the blockers, with those that one thing holds up together.
func hindrances(blockers []lifecyclev1alpha1.Blocker) []hindrance {
	var all []hindrance
	for _, b := range blockers {
		i := slices.IndexFunc(all, func(h hindrance) bool { return h.Reason == b.Reason && h.By == b.By && Remedy(h.Blocker) == Remedy(b) })
		if i < 0 {
			all = append(all, hindrance{b, 1})
			continue
		}
		all[i].count++
		if b.Since != nil && (all[i].Since == nil || b.Since.Before(all[i].Since)) {
			all[i].Since = b.Since
		}
	}
	return all
}

func (h hindrance) text(now time.Time) string {
	text := h.Object
	if h.count > 1 {
		text += fmt.Sprintf(" and %d more", h.count-1)
	}
	text += ": " + h.Reason
	if h.By != "" {
		text += ", by " + h.By
	}
	if h.Since != nil {
		text += ", for " + duration.HumanDuration(max(now.Sub(h.Since.Time), 0))
	}
	return text
}

// heldUpLines are at most so many of what holds the node up, each with what would help.
func (s *Story) heldUpLines(now time.Time, style ui.Style, most int) []string {
	var lines []string
	status, said, told := &s.event.Status, "", 0
	all := hindrances(status.Blockers)
	for _, h := range all[:min(most, len(all))] {
		told += h.count
		lines = append(lines, style.WrapAtMost("  ", h.text(now), blockerLines)...)
		if help := Remedy(h.Blocker); help != "" && help != said {
			for _, line := range style.WrapAtMost("    ", help, helpLines) {
				lines = append(lines, style.Paint(ui.Faint, line))
			}
			said = help
		}
	}
	if more := max(int(status.BlockersTotal), len(status.Blockers)) - told; more > 0 {
		lines = append(lines, style.Line(ui.Span{Text: fmt.Sprintf("  and %d more", more), Tone: ui.Faint}))
	}
	return lines
}
