// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"
)

func TestWhatIsNotKnownIsWaitedForOnce(t *testing.T) {
	end := time.Unix(2000, 0)
	for name, tc := range map[string]struct {
		known  bool
		at     time.Time
		until  time.Time
		gaveUp bool
	}{
		"not known yet":                {at: end.Add(-time.Second), until: end},
		"not known when it is over":    {at: end, gaveUp: true},
		"known in time":                {known: true, at: end.Add(-time.Second)},
		"known when it is looked late": {known: true, at: end.Add(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			g := grace{end}
			if until, gaveUp := g.wait(tc.at, tc.known); !until.Equal(tc.until) || gaveUp != tc.gaveUp {
				t.Errorf("until %s, gave up: %t", until, gaveUp)
			}
			if tc.until.IsZero() {
				if until, gaveUp := g.wait(tc.at, false); !until.IsZero() || gaveUp {
					t.Errorf("it is waited for again until %s, gave up: %t", until, gaveUp)
				}
			}
		})
	}
}
