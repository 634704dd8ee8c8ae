// SPDX-License-Identifier: Apache-2.0

package decision

import "time"

// An Of is one step of a package's kind, and the time of the next decision if no fact changes before. S is an
// interface.
type Of[S any] struct {
	// Step is nil when there is nothing to do now.
	Step S
	// Wake is zero when only a change of the facts can give a step.
	Wake time.Time
}

// Or returns d if it has a step, otherwise other with the earlier time of the two.
func (d Of[S]) Or(other Of[S]) Of[S] {
	if any(d.Step) != nil {
		return d
	}
	if other.Wake.IsZero() || (!d.Wake.IsZero() && d.Wake.Before(other.Wake)) {
		other.Wake = d.Wake
	}
	return other
}
