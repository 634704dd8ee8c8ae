// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Next is the next step for the node. The event being worked on comes first, then
// the events that wait, then what others have left behind; none of them can keep
// another from its step for longer than its own step takes.
func Next(f Facts, now time.Time) Decision {
	events := lifecycleevent.OldestFirst(f.Events)
	current := inWork(f, events)

	decision := Decision{}
	if current != nil {
		decision = drive(f, current, now)
	}
	return decision.
		Or(sweep(f, events, now)).
		Or(admit(f, events, now)).
		Or(forgetDrain(f, now)).
		Or(forgetTransitions(f, now))
}

// inWork is the one event of ours that is worked on: one that has ended and is not
// wound up yet, or else the oldest claimed one.
func inWork(f Facts, events []*lifecyclev1alpha1.LifecycleEvent) *lifecyclev1alpha1.LifecycleEvent {
	var claimed *lifecyclev1alpha1.LifecycleEvent
	for _, e := range events {
		if !ours(f, e) {
			continue
		}
		if e.Status.ClaimStatus.Terminal() && protected(e) {
			return e
		}
		if e.Status.ClaimStatus == lifecyclev1alpha1.Claimed && claimed == nil {
			claimed = e
		}
	}
	return claimed
}

// occupied says whether an event, of whoever, keeps the node from being claimed for
// another one.
func occupied(events []*lifecyclev1alpha1.LifecycleEvent) bool {
	return slices.ContainsFunc(events, func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed ||
			e.Status.ClaimStatus.Terminal() && protected(e) && e.Status.ClaimedBy != nil
	})
}

// sweep deletes events that have ended: ours once they are wound up, and those that
// nobody could claim. Where the creator of such an event has set the finalizer, it is
// taken off.
func sweep(f Facts, events []*lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	decision := Decision{}
	for _, e := range events {
		unclaimed := e.Status.ClaimedBy == nil
		over := e.Status.ClaimStatus.Terminal() || e.DeletionTimestamp != nil
		switch {
		case !over, !unclaimed && !ours(f, e):
		case protected(e) && unclaimed:
			decision = decision.Or(do(Unprotect{Event: e}))
		case !protected(e) && e.DeletionTimestamp == nil:
			decision = decision.Or(deleteAfterTTL(f, e, now))
		}
	}
	return decision
}

func ours(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.ClaimedBy != nil && *e.Status.ClaimedBy == f.Claimer
}

func protected(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return slices.Contains(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
}
