// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// nothingText is printed where there is nothing to show.
func nothingText(nodesUnread bool) string {
	if nodesUnread {
		return "There is no LifecycleEvent. Whether nodes are cordoned is not known: you may not list Nodes.\n"
	}
	return "All nodes are in service.\n"
}

// statusTable is the overview for people, of at least one node.
func statusTable(all []nodeStatus, style ui.Style, now time.Time, why bool) string {
	type row = nodeStatus
	columns := []cli.Column[row]{
		cli.Text("NODE", func(s *row) string { return s.Node }),
		cli.Toned("STATE", func(s *row) (string, ui.Tone) { return string(s.State), progress.Tone(s.State) }),
		cli.Text("PROGRESS", (*row).progress),
		cli.Text("SINCE", func(s *row) string { return cli.Ago(s.Since, now) }),
		cli.Text("DEADLINE", func(s *row) string { return cli.Until(s.Deadline, now) }),
		cli.Text("WHO", (*row).who).Short(),
		cli.Text("BLOCKED BY", (*row).blockedBy).Under(),
	}
	if why {
		columns = append(columns,
			cli.Text("WHY", func(s *row) string { return s.Reason }).Under(),
			cli.Text("EVENT", func(s *row) string { return s.Event }).Under())
	}
	return cli.Table(style, all, columns, func(s *row) []string { return s.below(why) })
}

// below returns the texts below the line of a node. There is room for the remedy.
func (s *nodeStatus) below(why bool) (texts []string) {
	if by := s.blockedBy(); by != "" {
		if help := s.help(); help != "" {
			by += ": " + help
		}
		texts = append(texts, by)
	}
	if why && s.Event != "" {
		text := s.Event
		if s.Reason != "" {
			text += ", because of: " + s.Reason
		}
		texts = append(texts, text)
	}
	return texts
}

// statusLine is a node of the overview where nothing can be redrawn.
func statusLine(s nodeStatus, now time.Time) string {
	parts := []string{now.UTC().Format(time.TimeOnly), s.Node}
	for _, part := range []string{s.Event, string(s.State), s.progress(), s.blockedBy(), s.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return ui.Clean(strings.Join(parts, "  ")) + "\n"
}

func (s *nodeStatus) progress() string {
	if s.Progress == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Progress.Done, s.Progress.Total)
}

// who is the requester, or the owner of the cordon.
func (s *nodeStatus) who() string {
	switch {
	case len(s.Maintenances) > 0:
		return "maintenance " + strings.Join(s.Maintenances, ", ")
	case s.RequestedBy != "" || s.Event != "":
		return s.RequestedBy
	case len(s.CordonedFor) > 0:
		text := "for " + strings.Join(s.CordonedFor, ", ")
		if s.CordonedByOthers != "" {
			text += "; " + s.CordonedByOthers
		}
		return text
	default:
		return s.CordonedByOthers
	}
}

// blockedBy is the first blocker.
func (s *nodeStatus) blockedBy() string {
	text := ""
	switch {
	case s.Waiting != "":
		text = s.Waiting
	case len(s.Blockers) > 0 && !s.Phase.Terminal():
		text = fmt.Sprintf("%s: %s", s.Blockers[0].Reason, s.Blockers[0].Object)
		if more := s.BlockersTotal - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	if s.Outdated {
		text = cmp.Or(text, "-") + " (outdated)"
	}
	return text
}

// help is the remedy for [nodeStatus.blockedBy].
func (s *nodeStatus) help() string {
	if s.Waiting == "" && len(s.Blockers) > 0 {
		return progress.Remedy(s.Blockers[0])
	}
	return s.Message
}
