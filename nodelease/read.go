// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Held is what a Lease says of its holder.
type Held struct {
	// Holder is its name. Empty: nobody's.
	Holder string
	// Purpose is for people: what the holder does with the node. May be empty.
	Purpose string
	// Since is when the holder took it.
	Since time.Time
	// Until is how long the holder may count on it, unless it renews it. For all others it is
	// the holder's for [Skew] longer. Zero: it never expires.
	Until time.Time
	// Administrator: the holder is a person.
	Administrator bool
	// Transitions counts how often the lease went from one holder to another.
	Transitions int32
}

// Valid tells that the holder itself, whose clock says now, may go on.
func (h Held) Valid(now time.Time) bool {
	return h.Holder != "" && (h.Administrator || !now.After(h.Until))
}

// FreeAfter is the time after which others may take the lease, unless it is renewed. Zero:
// it never expires.
func (h Held) FreeAfter() time.Time {
	if h.Until.IsZero() {
		return time.Time{}
	}
	return h.Until.Add(Skew)
}

// Read says who holds the lease, in the eyes of somebody whose clock says now. If is is false
// nobody does, and anybody may take it; a holder that held then is who had it last and let it
// expire. A nil Lease is one that nobody has taken yet.
func Read(lease *coordinationv1.Lease, now time.Time) (held Held, is bool) {
	if lease == nil {
		return Held{}, false
	}
	spec := lease.Spec
	held.Transitions = valueOf(spec.LeaseTransitions)
	held.Holder = valueOf(spec.HolderIdentity)
	if held.Holder == "" {
		return held, false
	}
	held.Purpose = lease.Annotations[PurposeAnnotation]
	if spec.AcquireTime != nil {
		held.Since = spec.AcquireTime.Time
	}
	if IsAdministrator(held.Holder) {
		held.Administrator = true
		return held, true
	}
	// Without a time or a duration it cannot be known until when it would be: the proposal
	// writes a duration of 0 to give it back.
	if spec.RenewTime == nil {
		return held, false
	}
	held.Until = spec.RenewTime.Add(time.Duration(max(0, valueOf(spec.LeaseDurationSeconds))) * time.Second)
	return held, valueOf(spec.LeaseDurationSeconds) > 0 && !now.After(held.FreeAfter())
}

func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
