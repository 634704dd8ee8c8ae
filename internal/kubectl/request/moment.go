// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"strings"
	"time"
)

// Moment is what people write for a time: 2026-05-01T22:00:00Z; 2026-05-01T22:00, in the zone
// of after; 22:00, the next one after that; or +2h, so much later.
func Moment(text string, after time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.Truncate(time.Second), nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, after.Location()); err == nil {
			return at, nil
		}
	}
	if later, found := strings.CutPrefix(text, "+"); found {
		if d, err := time.ParseDuration(later); err == nil && d > 0 {
			return after.Add(d).Truncate(time.Second), nil
		}
	}
	if clock, err := time.Parse("15:04", text); err == nil {
		return nextAt(clock.Hour(), clock.Minute(), after), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2026-05-01T22:00:00Z, or 2026-05-01T22:00 in your time zone, or 22:00 for the "+
		"next one, or +2h", text)
}

// nextAt is when a clock shows that time next.
func nextAt(hour, minute int, after time.Time) time.Time {
	at := time.Date(after.Year(), after.Month(), after.Day(), hour, minute, 0, 0, after.Location())
	if !at.After(after) {
		at = time.Date(after.Year(), after.Month(), after.Day()+1, hour, minute, 0, 0, after.Location())
	}
	return at
}
