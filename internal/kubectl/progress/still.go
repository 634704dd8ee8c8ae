// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"time"
)

// Still are entries that say what is still waited for: for who sees no frame, and has
// heard nothing for a while.
func (s *Stories) Still(now time.Time) []Entry {
	var entries []Entry
	for _, one := range s.all {
		if one.Over(now) {
			continue
		}
		entry := Entry{After: now.Sub(s.began), Text: one.still()}
		if len(s.all) > 1 {
			entry.Node = one.asked.Node
		}
		entries = append(entries, entry)
	}
	return entries
}

func (s *Story) still() string {
	if s.event == nil {
		return "still waits for LifecycleEvent " + s.asked.Event
	}
	text := "still " + StateOf(s.event).Text
	status := &s.event.Status
	if p := status.Progress; p != nil && p.Total > 0 {
		text += fmt.Sprintf(", %d of %d done", p.Done, p.Total)
	}
	if wait := Waits(s.event); wait.Reason != "" {
		return text + "; " + wait.String()
	}
	if len(status.Blockers) == 0 {
		return text
	}
	text += "; " + heldUp(status.Blockers[0])
	if more := max(int(status.BlockersTotal), len(status.Blockers)) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}
