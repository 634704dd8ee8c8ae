// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"
)

// Moment reads a time: 2026-05-01T22:00:00Z; 2026-05-01T22:00, in the zone of after; 22:00, the next
// one after that; or 2h, also as +2h: so much later.
func Moment(text string, after time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.Truncate(time.Second), nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, after.Location()); err == nil {
			return at, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return after.Add(d).Truncate(time.Second), nil
	}
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time: write 2026-05-01T22:00:00Z, or 2026-05-01T22:00 in your time zone, or 22:00 for the "+
			"next one, or 2h", text)
	}
	at := time.Date(after.Year(), after.Month(), after.Day(), clock.Hour(), clock.Minute(), 0, 0, after.Location())
	if !at.After(after) {
		at = at.AddDate(0, 0, 1)
	}
	return at, nil
}
