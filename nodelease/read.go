// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Held describes the holder in a Lease.
type Held struct {
	// Holder is its name. Empty: no holder.
	Holder string
	// Purpose describes the holder's work to users. May be empty.
	Purpose string
	// Since is the time of the acquisition.
	Since time.Time
	// Until is the time until which the holder may rely on the lease, unless it renews it. For
	// all other tools the lease belongs to the holder for [Skew] longer. Zero: it never
	// expires.
	Until time.Time
	// Administrator means that the holder is a person.
	Administrator bool
	// Transitions counts the changes of the holder.
	Transitions int32
}

// Valid reports whether the holder itself, with the time now on its clock, may continue.
func (h Held) Valid(now time.Time) bool {
	return h.Holder != "" && (h.Administrator || !now.After(h.Until))
}

// FreeAfter returns the time after which other holders may acquire the lease, unless it is
// renewed. Zero: it never expires.
func (h Held) FreeAfter() time.Time {
	if h.Until.IsZero() {
		return time.Time{}
	}
	return h.Until.Add(Skew)
}

// Read returns the holder of the lease, for a reader with the time now on its clock. If is is
// false, the lease is free, and a holder in held is the last one, which let it expire. A nil
// Lease is a lease without a first holder.
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
	// Without a time or a duration the expiry is unknown: the proposal writes a duration of 0
	// to release the lease.
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
