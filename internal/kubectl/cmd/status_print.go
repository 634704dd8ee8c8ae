// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// nothingText is what is said where nothing is to be shown.
func nothingText(nodesUnread bool) string {
	if nodesUnread {
		return "No LifecycleEvent is there. Whether nodes are cordoned is not known: you may not list Nodes.\n"
	}
	return "All nodes are in service.\n"
}

// statusTable is the overview for people, of at least one node. Where the table would be wider than the terminal,
// what blocks a node, and why it was asked for, is below its line.
func statusTable(all []nodeStatus, style ui.Style, now time.Time, why bool) string {
	rows := statusRows(all, now, true, why)
	if style.Fits(rows) {
		return strings.Join(style.Table(rows, 0), "\n") + "\n"
	}
	const who = 5 // its column
	lines := style.Table(statusRows(all, now, false, false), who)
	var text strings.Builder
	fmt.Fprintln(&text, lines[0])
	for i, s := range all {
		fmt.Fprintln(&text, lines[i+1])
		for _, line := range s.below(style, why) {
			fmt.Fprintln(&text, style.Paint(ui.Faint, line))
		}
	}
	return text.String()
}

func statusRows(all []nodeStatus, now time.Time, blockers, why bool) [][]ui.Cell {
	header := []string{"NODE", "STATE", "PROGRESS", "SINCE", "DEADLINE", "WHO"}
	if blockers {
		header = append(header, "BLOCKED BY")
	}
	if why {
		header = append(header, "WHY", "EVENT")
	}
	rows := [][]ui.Cell{cells(header, ui.Strong)}
	for _, s := range all {
		texts := []string{s.Node, string(s.State), s.progress(), ago(s.Since, now), until(s.Deadline, now), s.who()}
		if blockers {
			texts = append(texts, s.blockedBy())
		}
		if why {
			texts = append(texts, orDash(s.Reason), orDash(s.Event))
		}
		row := cells(texts, ui.Plain)
		row[1].Tone = progress.Tone(s.State)
		rows = append(rows, row)
	}
	return rows
}

// below are the lines below that of a node. There is room for what would help.
func (s *nodeStatus) below(style ui.Style, why bool) []string {
	const most = 2
	var lines []string
	if by := s.blockedBy(); by != "-" {
		if help := s.help(); help != "" {
			by += ": " + help
		}
		lines = append(lines, style.WrapAtMost("  ", by, most)...)
	}
	if why && s.Event != "" {
		text := s.Event
		if s.Reason != "" {
			text += ", because of: " + s.Reason
		}
		lines = append(lines, style.WrapAtMost("  ", text, most)...)
	}
	return lines
}

// statusLine is one node of the overview, where nothing can be redrawn.
func statusLine(s nodeStatus, now time.Time) string {
	parts := []string{now.UTC().Format(time.TimeOnly), s.Node}
	if s.Event != "" {
		parts = append(parts, s.Event)
	}
	parts = append(parts, string(s.State))
	if s.Progress != nil {
		parts = append(parts, s.progress())
	}
	if by := s.blockedBy(); by != "-" {
		parts = append(parts, by)
	}
	if s.Message != "" {
		parts = append(parts, s.Message)
	}
	return ui.Clean(strings.Join(parts, "  ")) + "\n"
}

func cells(texts []string, tone ui.Tone) []ui.Cell {
	var row []ui.Cell
	for _, text := range texts {
		row = append(row, ui.Cell{Text: text, Tone: tone})
	}
	return row
}

func (s *nodeStatus) progress() string {
	if s.Progress == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d", s.Progress.Done, s.Progress.Total)
}

func ago(at *metav1.Time, now time.Time) string {
	if at == nil {
		return "-"
	}
	return duration.HumanDuration(max(now.Sub(at.Time), 0))
}

func until(at *metav1.Time, now time.Time) string {
	switch {
	case at == nil:
		return "-"
	case at.Time.Before(now):
		return "passed"
	default:
		return "in " + duration.HumanDuration(at.Sub(now))
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
