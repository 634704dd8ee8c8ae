// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// statusTable lists nodes.
func statusTable(all []nodeStatus, style ui.Style, now time.Time, wide, nodesUnread bool) string {
	type row = nodeStatus
	switch {
	case len(all) > 0:
	case nodesUnread:
		return "There is no LifecycleEvent. Cordons are not known: you may not list Nodes.\n"
	default:
		return "All nodes are in service.\n"
	}
	blocked := cli.Under("BLOCKED BY", (*row).blockedBy)
	blocked.Below = (*row).blockedAndHelp
	columns := []cli.Column[row]{
		cli.Text("NODE", func(s *row) string { return s.Node }),
		cli.Toned("STATE", func(s *row) (string, ui.Tone) { return string(s.State), progress.Tone(s.State) }),
		cli.Text("PROGRESS", (*row).progress),
		cli.Text("SINCE", func(s *row) string { return cli.Ago(s.Since, now) }),
		cli.Text("DEADLINE", func(s *row) string { return cli.Until(s.Deadline, now) }),
		cli.Text("WHO", (*row).who),
		blocked,
		cli.Under("WHY", func(s *row) string { return s.Reason }),
		cli.Under("UNTIL", func(s *row) string { return cli.Until(s.Until, now) }),
		cli.Under("NEXT", func(s *row) string { return s.Next }),
	}
	if wide {
		columns = append(columns, cli.Under("EVENT", func(s *row) string { return s.Event }))
	}
	return cli.Table(style, all, columns)
}

// line returns a node as a line.
func (s *nodeStatus) line(now time.Time) string {
	return cli.ChangeLine(now, s.Node, s.Event, string(s.State), s.progress(), s.blockedBy(), s.Message)
}

func (s *nodeStatus) progress() string {
	if s.Progress == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Progress.Done, s.Progress.Total)
}

// who returns the requester, or the owner of the cordon.
func (s *nodeStatus) who() string {
	switch {
	case len(s.Maintenances) > 0:
		return "maintenance " + strings.Join(s.Maintenances, ", ")
	case s.RequestedBy != "" || s.Event != "":
		return s.RequestedBy
	case len(s.Holds) > 0:
		return s.holders()
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

// holders names the actors of the holds.
func (s *nodeStatus) holders() string {
	var names []string
	for _, h := range s.Holds {
		name := cmp.Or(h.User, "event "+h.Event)
		switch {
		case h.Maintenance != "":
			name = "maintenance " + h.Maintenance
		case h.Actor != "":
			name += "/" + h.Actor
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// blockedBy returns the first blocker.
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

// blockedAndHelp returns the first blocker, and its remedy.
func (s *nodeStatus) blockedAndHelp() string {
	by, help := s.blockedBy(), s.Message
	if s.Waiting == "" && len(s.Blockers) > 0 {
		help = progress.Remedy(s.Blockers[0])
	}
	if by == "" || help == "" {
		return by
	}
	return by + ": " + help
}
