// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// hindrance is a blocker of one object or of several.
type hindrance struct {
	lifecyclev1alpha1.Blocker // the first
	count                     int
}

// hindrances joins the blockers that have the same cause.
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

// heldUpLines returns at most so many blockers, each with its remedy.
func (s *Item) heldUpLines(now time.Time, style ui.Style, most int) []string {
	var lines []string
	status, said, shown := &s.event.Status, "", 0
	all := hindrances(status.Blockers)
	for _, h := range all[:min(most, len(all))] {
		shown += h.count
		lines = append(lines, style.WrapAtMost("  ", h.text(now), blockerLines)...)
		if help := Remedy(h.Blocker); help != "" && help != said {
			for _, line := range style.WrapAtMost("    ", help, helpLines) {
				lines = append(lines, style.Paint(ui.Faint, line))
			}
			said = help
		}
	}
	if more := state.BlockersOf(status) - shown; more > 0 {
		lines = append(lines, style.Line(ui.Span{Text: fmt.Sprintf("  and %d more", more), Tone: ui.Faint}))
	}
	return lines
}

// losses are the reasons that a drain refuses to evict a pod.
var losses = map[string]string{
	"UnmanagedPod": "it has no controller that would start it again",
	"LocalStorage": "what is in its emptyDir volume would be lost",
}

// Remedy returns the remedy against a blocker of an event that exists and keeps its parameters.
func Remedy(b lifecyclev1alpha1.Blocker) string {
	if flag := state.FlagAgainst(b); flag != "" {
		return losses[b.Reason] + "; to evict it anyway, cancel this drain and request one with " + flag
	}
	return b.Message
}

// Flag returns the same before an event exists, or after it was withdrawn.
func Flag(b lifecyclev1alpha1.Blocker) string {
	if flag := state.FlagAgainst(b); flag != "" {
		return losses[b.Reason] + "; " + flag + " evicts it anyway"
	}
	return b.Message
}
