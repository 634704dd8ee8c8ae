// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// Next decides the next step for the node: first for the event in work, then for the
// events that wait, then the clean-up. Each delays the others by one step at most. If
// the kubelet claims, only the work for the agent's own events remains.
func Next(f Facts, now time.Time) Decision {
	events := lifecycleevent.OldestFirst(f.Events)
	decision := Decision{}
	if e := inWork(&f, events); e != nil {
		decision = newWork(&f, e, now).next()
	}
	if kubeletClaims(&f) {
		return decision.Or(sweep(&f, events, now)).Or(waitUntil(now.Add(kubeletInterval)))
	}
	return decision.
		Or(sweep(&f, events, now)).
		Or(admit(&f, events, now)).
		Or(forgetDrain(&f, now)).
		Or(forgetTransitions(&f, now))
}

// inWork returns the event in work among the events that this agent has claimed: an ended event that is not wound up yet,
// otherwise the oldest claimed event.
func inWork(f *Facts, events []*lifecyclev1alpha1.LifecycleEvent) *lifecyclev1alpha1.LifecycleEvent {
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

// occupant returns the claimed event that keeps the other events waiting, or nil. An event of a third-party claimer
// comes second: the event of a shutdown passes it.
func occupant(events []*lifecyclev1alpha1.LifecycleEvent) *lifecyclev1alpha1.LifecycleEvent {
	var foreign *lifecyclev1alpha1.LifecycleEvent
	for _, e := range events {
		isForeign := lifecycleevent.HasForeignClaim(e)
		claimed := e.Status.ClaimStatus == lifecyclev1alpha1.Claimed ||
			e.Status.ClaimStatus.Terminal() && protected(e) && (isForeign || e.Status.ClaimedBy != nil)
		switch {
		case claimed && !isForeign:
			return e
		case claimed && foreign == nil:
			foreign = e
		}
	}
	return foreign
}

func ours(f *Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.ClaimedBy != nil && *e.Status.ClaimedBy == f.Claimer
}

func protected(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return slices.Contains(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
}
