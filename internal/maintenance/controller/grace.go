// SPDX-License-Identifier: Apache-2.0

package controller

import "time"

// grace is until when no step is done because something that is watched is not known yet, and
// what is not known holds somebody back; zero: it is waited for no more.
type grace struct{ until time.Time }

// wait returns until when it is to be waited for; zero: it is known, or has been waited for.
// gaveUp is true once: when it is waited for no more, and is not known.
func (g *grace) wait(now time.Time, known bool) (until time.Time, gaveUp bool) {
	switch {
	case g.until.IsZero():
		return time.Time{}, false
	case !known && now.Before(g.until):
		return g.until, false
	}
	g.until = time.Time{}
	return time.Time{}, !known
}
