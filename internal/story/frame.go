// SPDX-License-Identifier: Apache-2.0

package story

import (
	"fmt"
	"strings"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

const (
	maxRows  = 12 // pods in a frame
	barWidth = 24
)

// Line is the entry as it is printed.
func (e Entry) Line() string { return fmt.Sprintf("%6.1fs  %s", e.After.Seconds(), e.Text) }

// Frame is how it is now, in lines of at most width runes.
func (s *Story) Frame(now time.Time, width int) string {
	lines := []string{fmt.Sprintf("%6.1fs  %s", now.Sub(s.began).Seconds(), s.headline(now))}
	if s.lost != "" {
		lines = append(lines, "         The API server does not answer: "+s.lost)
	}
	if s.event != nil {
		if wait := waitsFor(&s.event.Status); wait != "" {
			lines = append(lines, "         "+wait)
		}
		lines = append(lines, s.bar()...)
		lines = append(lines, s.rows(now)...)
	}
	for i, line := range lines {
		lines[i] = clip(line, width)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *Story) headline(now time.Time) string {
	if s.event == nil {
		return "LifecycleEvent " + s.name + " is not there yet"
	}
	text := fmt.Sprintf("%s on %s: %s", s.event.Spec.TransitionName, s.event.Spec.BindingNode, s.event.Status.ClaimStatus)
	if s.event.Status.State != "" {
		text += ", " + s.event.Status.State
	}
	if deadline := s.event.Status.SLA; deadline != nil {
		text += ", deadline in " + deadline.Sub(now).Round(time.Second).String()
	}
	return text
}

func (s *Story) bar() []string {
	progress := s.event.Status.Progress
	if progress == nil || progress.Total == 0 {
		return nil
	}
	done := int(progress.Done) * barWidth / int(progress.Total)
	return []string{fmt.Sprintf("         [%s%s] %s",
		strings.Repeat("#", done), strings.Repeat(".", barWidth-done), progress.Summary)}
}

// rows are the pods, each with what it waits for.
func (s *Story) rows(now time.Time) []string {
	reasons := map[string]lifecyclev1alpha1.Blocker{}
	var rows []string
	for _, b := range s.event.Status.Blockers {
		if name, isPod := strings.CutPrefix(b.Object, "Pod "); isPod {
			reasons[name] = b
			continue
		}
		rows = append(rows, "         "+heldUp(b))
	}
	if s.node == nil || !s.node.Spec.Unschedulable {
		return rows // nobody is asked to leave
	}
	pods := s.leaving()
	widest := 0
	for _, p := range pods[:min(maxRows, len(pods))] {
		widest = max(widest, len(p.name))
	}
	for i, p := range pods {
		if i == maxRows {
			return append(rows, fmt.Sprintf("           and %d more", len(pods)-maxRows))
		}
		rows = append(rows, fmt.Sprintf("           %-*s  %s", widest, p.name, p.state(reasons, now)))
	}
	return rows
}

func (p *pod) state(reasons map[string]lifecyclev1alpha1.Blocker, now time.Time) string {
	blocker, isBlocked := reasons[p.name]
	switch {
	case isBlocked && blocker.By != "":
		return blocker.Reason + ": " + blocker.By
	case isBlocked:
		return blocker.Reason
	case p.ending != nil:
		return fmt.Sprintf("ends, since %.0fs", now.Sub(*p.ending).Seconds())
	default:
		return ""
	}
}

func clip(line string, width int) string {
	runes := []rune(strings.TrimRight(line, " "))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:max(0, width-1)]) + "…"
}
