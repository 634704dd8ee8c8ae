// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// Line is the entry as it is printed.
func (e Entry) Line() string {
	text := e.Text
	if e.Node != "" {
		text = e.Node + ": " + text
	}
	return fmt.Sprintf("%6.1fs  %s", e.After.Seconds(), ui.Clean(text))
}

// Each of what holds a node up, and what would help against it, may take so many lines.
const (
	blockerLines = 2
	helpLines    = 2
)

// Frame is how it is now: a line for each node, and under it what holds it up. It is not
// higher than the terminal.
func (s *Stories) Frame(now time.Time, style ui.Style) string {
	var lines []string
	if s.lost != "" {
		lines = append(lines, style.Line(ui.Span{Text: "The API server does not answer: " + s.lost, Tone: ui.Bad}))
	}
	const usualHeight = 24
	height := style.Height
	if height == 0 {
		height = usualHeight
	}
	room := max(height-1-len(lines), 1) // the cursor has a line
	shown, hidden := s.all, 0
	if len(shown) > room {
		shown = s.unfinishedFirst(now)[:room-1]
		hidden = len(s.all) - len(shown)
		room--
	}
	const most = 10
	each := (room - len(shown)) / max(len(shown), 1)
	if s.pods {
		each-- // for those that are ending
	}
	blockers := min(max((each-1)/(blockerLines+helpLines), 0), most) // one line for those that are not shown
	width := s.widest(shown)
	for _, one := range shown {
		lines = append(lines, one.lines(now, style, width, blockers)...)
	}
	if hidden > 0 {
		lines = append(lines, style.Line(ui.Span{Text: fmt.Sprintf("and %d more nodes", hidden), Tone: ui.Faint}))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *Stories) unfinishedFirst(now time.Time) []*Story {
	var first, last []*Story
	for _, one := range s.all {
		if one.Over(now) {
			last = append(last, one)
		} else {
			first = append(first, one)
		}
	}
	return append(first, last...)
}

func (s *Stories) widest(shown []*Story) int {
	const most = 30
	width := 0
	for _, one := range shown {
		width = max(width, len(one.asked.Node))
	}
	return min(width, most)
}

// lines are the node's line, and what holds it up.
func (s *Story) lines(now time.Time, style ui.Style, width, blockers int) []string {
	name := ui.Span{Text: fmt.Sprintf("%-*s  ", width, ui.Clip(s.asked.Node, width)), Tone: ui.Strong}
	if s.event == nil {
		return []string{style.Line(name, ui.Span{Text: "LifecycleEvent " + s.asked.Event + " is not there yet"})}
	}
	state := s.state()
	line := []ui.Span{name, {Text: s.bar(style)}, state}
	for _, text := range s.times(now) {
		if longer := slices.Concat(line, []ui.Span{{Text: text}}); len(line) <= 3 || style.Holds(longer) {
			line = longer
		}
	}
	lines := []string{style.Line(line...)}
	if s.gone || s.event.Status.ClaimStatus.Terminal() {
		return lines
	}
	if wait := Waits(s.event); wait.Reason != "" {
		lines = append(lines, style.Line(ui.Span{Text: "  " + wait.String()}))
	}
	lines = append(lines, s.heldUpLines(now, style, blockers)...)
	if text := s.endingText(now); text != "" && blockers > 0 {
		lines = append(lines, style.Line(ui.Span{Text: "  " + text, Tone: ui.Faint}))
	}
	return lines
}

// state is how the event is, or was when it went.
func (s *Story) state() ui.Span {
	if s.gone && !s.event.Status.ClaimStatus.Terminal() {
		return ui.Span{Text: "gone", Tone: ui.Warn}
	}
	return StateOf(s.event)
}

// bar is the progress, as a bar and in numbers.
func (s *Story) bar(style ui.Style) string {
	const narrow, wide, wideFrom = 10, 24, 100
	size := narrow
	if style.Width >= wideFrom || style.Width == 0 {
		size = wide
	}
	p := s.event.Status.Progress
	if p == nil || p.Total == 0 {
		return ui.Bar(0, 0, size) + "   -/-    "
	}
	return fmt.Sprintf("%s %3d/%-3d  ", ui.Bar(int(p.Done), int(p.Total), size), p.Done, p.Total)
}

// times are how long it has taken, how long it will, and how long it may take: what is
// worth most comes first.
func (s *Story) times(now time.Time) []string {
	status := &s.event.Status
	if s.ended != nil {
		return []string{" after " + duration.HumanDuration(max(s.ended.Sub(s.since()), 0))}
	}
	texts := []string{" for " + duration.HumanDuration(max(now.Sub(s.since()), 0))}
	if left, known := s.pace.left(now); known && !needsPeople(status) && status.ClaimStatus == lifecyclev1alpha1.Claimed {
		texts = append(texts, ", "+about(left))
	}
	if deadline := status.SLA; deadline != nil {
		texts = append(texts, ", deadline in "+duration.HumanDuration(max(deadline.Sub(now), 0)))
	}
	return texts
}

// since is when it was asked for.
func (s *Story) since() time.Time {
	if created := s.event.CreationTimestamp; !created.IsZero() {
		return created.Time
	}
	return s.in.began
}
