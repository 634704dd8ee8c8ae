// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/nodelease"
)

const (
	// Duration is for how long the lease is taken. An update of the controller, or some
	// minutes without an API server, must not lose the lease of a node that is out; and where
	// Slipway is gone for good, others must not wait for hours.
	Duration = 15 * time.Minute
	// RenewAfter is when it is renewed: two may fail. A node that is out costs twelve
	// writes an hour.
	RenewAfter = Duration / 3
)

// Next is the next step for the node's lease. The lease comes first, then what the Node
// says of it, and then what becomes of the events: who is let pass by the lease finds its
// holder on the Node.
func Next(f Facts, now time.Time) Decision {
	if f.Node == nil { // the lease goes with it, and the events are oversight's
		return Decision{}
	}
	held, is := nodelease.Read(f.Lease, now)
	decision := keep(f, held, is, now).Or(mirror(f, held, is))
	for _, e := range lifecycleevent.OldestFirst(f.Events) {
		if decision.Step != nil {
			return decision
		}
		decision = decision.Or(admit(f, e, held, is, now))
	}
	return decision
}

// keep takes the lease where Slipway needs it, renews it, and gives it back.
func keep(f Facts, held nodelease.Held, is bool, now time.Time) Decision {
	switch {
	case is && held.Holder != nodelease.Slipway:
		return waitUntil(free(held))
	case is && !needed(f) && !returning(f):
		return do(Release{Lease: f.Lease})
	case is:
		if due := renewal(f.Lease); now.Before(due) {
			return waitUntil(due)
		}
		return do(Renew{Lease: f.Lease, Purpose: purpose(f, held.Purpose)})
	case needed(f):
		return do(Acquire{Lease: f.Lease, Purpose: purpose(f, "")})
	default:
		return Decision{}
	}
}

// free is when a lease has expired that nobody renews, or never.
func free(held nodelease.Held) time.Time {
	if held.Until.IsZero() {
		return time.Time{}
	}
	return held.Until.Add(nodelease.Skew + time.Millisecond)
}
