// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
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

// Each blocker, and each remedy, may take so many lines.
const (
	blockerLines = 2
	helpLines    = 2
)

// Frame draws the state now: a line for each node, and its blockers below. It is not higher
// than the terminal.
func (s *Model) Frame(now time.Time, style ui.Style) string {
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
	const widest = 30
	width := 0
	for _, one := range shown {
		width = min(max(width, len(one.asked.Node)), widest)
	}
	for _, one := range shown {
		lines = append(lines, one.lines(now, style, width, blockers)...)
	}
	if hidden > 0 {
		lines = append(lines, style.Line(ui.Span{Text: fmt.Sprintf("and %d more nodes", hidden), Tone: ui.Faint}))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *Model) unfinishedFirst(now time.Time) []*Item {
	over := func(one *Item) bool { return one.Over(now) }
	unfinished := slices.DeleteFunc(slices.Clone(s.all), over)
	return append(unfinished, slices.DeleteFunc(slices.Clone(s.all), func(one *Item) bool { return !over(one) })...)
}

// lines are the line of the node, and its blockers.
func (s *Item) lines(now time.Time, style ui.Style, width, blockers int) []string {
	name := ui.Span{Text: fmt.Sprintf("%-*s  ", width, ui.Clip(s.asked.Node, width)), Tone: ui.Strong}
	if s.event == nil {
		return []string{style.Line(name, ui.Span{Text: "LifecycleEvent " + s.asked.Event + " does not exist yet"})}
	}
	line := []ui.Span{name, {Text: s.bar(style)}, s.stateSpan()}
	for _, text := range s.times(now) {
		if longer := slices.Concat(line, []ui.Span{{Text: text}}); len(line) <= 3 || style.Holds(longer) {
			line = longer
		}
	}
	lines := []string{style.Line(line...)}
	if s.gone || s.event.Status.ClaimStatus.Terminal() {
		return lines
	}
	if wait := state.WaitOf(s.event); wait.Reason != "" {
		lines = append(lines, style.Line(ui.Span{Text: "  " + wait.String()}))
	}
	lines = append(lines, s.heldUpLines(now, style, blockers)...)
	if text := s.endingText(now); text != "" && blockers > 0 {
		lines = append(lines, style.Line(ui.Span{Text: "  " + text, Tone: ui.Faint}))
	}
	return lines
}

// stateSpan returns the state of the event, or its last one.
func (s *Item) stateSpan() ui.Span {
	now := state.OfEvent(s.event)
	if s.gone && !s.event.Status.ClaimStatus.Terminal() {
		now = state.Gone
	}
	return ui.Span{Text: string(now), Tone: Tone(now)}
}

// Tone returns the color of a state.
func Tone(s state.State) ui.Tone {
	switch s {
	case state.InService, state.Drained, state.Returned, state.Done:
		return ui.Good
	case state.Blocked, state.Stalled, state.Failed, state.DeadlinePassed:
		return ui.Bad
	case state.Cordoned, state.GoingDown, state.Unknown, state.Waiting, state.Canceling, state.Canceled, state.Gone:
		return ui.Warn
	default:
		return ui.Plain
	}
}

// bar shows the progress, as a bar and in numbers.
func (s *Item) bar(style ui.Style) string {
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

// times returns how long the event has taken, how long it will take, and its deadline: the
// most useful first.
func (s *Item) times(now time.Time) []string {
	status := &s.event.Status
	if s.ended != nil {
		return []string{" after " + duration.HumanDuration(max(s.ended.Sub(s.since()), 0))}
	}
	texts := []string{" for " + duration.HumanDuration(max(now.Sub(s.since()), 0))}
	if left, known := s.pace.left(now); known && !state.NeedsPeople(status) && status.ClaimStatus == lifecyclev1alpha1.Claimed {
		texts = append(texts, ", "+about(left))
	}
	if deadline := status.SLA; deadline != nil {
		texts = append(texts, ", deadline in "+duration.HumanDuration(max(deadline.Sub(now), 0)))
	}
	return texts
}

// since returns when the event was created.
func (s *Item) since() time.Time {
	if created := s.event.CreationTimestamp; !created.IsZero() {
		return created.Time
	}
	return s.in.began
}

// Still returns entries about events that have not ended, for output without a frame after a while
// without changes.
func (s *Model) Still(now time.Time) []Entry {
	var entries []Entry
	for _, one := range s.all {
		if !one.Over(now) {
			entries = append(entries, s.entry(one.asked.Node, now, false, one.still()))
		}
	}
	return entries
}

func (s *Item) still() string {
	if s.event == nil {
		return "still waits for LifecycleEvent " + s.asked.Event
	}
	text := "still " + string(state.OfEvent(s.event))
	status := &s.event.Status
	if p := status.Progress; p != nil && p.Total > 0 {
		text += fmt.Sprintf(", %d of %d done", p.Done, p.Total)
	}
	if wait := state.WaitOf(s.event); wait.Reason != "" {
		return text + "; " + wait.String()
	}
	if len(status.Blockers) == 0 {
		return text
	}
	text += "; " + heldUp(status.Blockers[0])
	if more := state.BlockersOf(status) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// pace measures the progress of an event.
type pace struct {
	began, last time.Time // when progress was seen first, and when more was done last
	base        int32     // at the first sight
	done, total int32
}

func (p *pace) saw(progress lifecyclev1alpha1.Progress, at time.Time) {
	if p.began.IsZero() {
		p.began, p.last, p.base = at, at, progress.Done
	}
	if progress.Done != p.done {
		p.last = at
	}
	p.done, p.total = progress.Done, progress.Total
}

// left estimates the remaining time from the past progress. It is unknown until a pod has left, and
// when the next pod is long overdue.
func (p *pace) left(now time.Time) (time.Duration, bool) {
	done := p.done - p.base
	if done <= 0 || p.done >= p.total {
		return 0, false
	}
	each := p.last.Sub(p.began) / time.Duration(done)
	since := now.Sub(p.last)
	const slack = 10 * time.Second
	if since > 2*each+slack {
		return 0, false
	}
	return max(each*time.Duration(p.total-p.done)-since, 0), true
}

// about rounds an estimate.
func about(d time.Duration) string {
	const (
		few    = 10 * time.Second
		coarse = 10 * time.Second
		fine   = 5 * time.Second
	)
	switch {
	case d < few:
		return "a few seconds left"
	case d < time.Minute:
		return fmt.Sprintf("about %s left", duration.HumanDuration(d.Round(fine)))
	default:
		return fmt.Sprintf("about %s left", duration.HumanDuration(d.Round(coarse)))
	}
}
