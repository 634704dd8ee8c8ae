// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Observer is told what becomes of evictions. Its methods may be called by several Drains at a time; they must not block.
type Observer interface {
	// Evicted: the server accepted the eviction of a pod.
	Evicted(pod types.NamespacedName)
	// Refused: the server did not accept the eviction of a pod, or its deletion. It is called for each try.
	Refused(pod types.NamespacedName, reason Reason)
	// EvictedAfter follows Evicted where a disruption budget had to allow it: how long it took from when this Drain saw
	// that the budget allows a disruption, or has got room for one more, until the server had accepted the eviction.
	EvictedAfter(pod types.NamespacedName, open time.Duration)
}

// opening is since when a budget allows a disruption.
type opening struct {
	version string
	since   time.Time
}

// openings are the budgets that allow a disruption now. An eviction uses one up: then the budget is open again once a
// later version of it says so.
type openings map[types.UID]opening

// saw takes in the budgets as they are now.
func (o openings) saw(budgets map[string][]*budget, now time.Time) {
	for _, of := range budgets {
		for _, b := range of {
			before, known := o[b.UID]
			switch {
			case known && before.version == b.ResourceVersion:
			case b.Status.DisruptionsAllowed < 1:
				delete(o, b.UID)
			case !known || before.since.IsZero():
				o[b.UID] = opening{b.ResourceVersion, now}
			default:
				o[b.UID] = opening{b.ResourceVersion, before.since}
			}
		}
	}
}

// keep forgets all other budgets: what becomes of one that is not looked at, nobody knows.
func (o openings) keep(budgets map[string][]*budget) {
	looked := map[types.UID]bool{}
	for _, of := range budgets {
		for _, b := range of {
			looked[b.UID] = true
		}
	}
	maps.DeleteFunc(o, func(uid types.UID, _ opening) bool { return !looked[uid] })
}

// use ends an opening, and returns how long it was. It was none where the budget was never seen to be open, as that of a
// pod that is not healthy may be.
func (o openings) use(b *budget, now time.Time) (open time.Duration, was bool) {
	before, known := o[b.UID]
	if !known || before.since.IsZero() {
		return 0, false
	}
	o[b.UID] = opening{version: before.version}
	return now.Sub(before.since), true
}

// observe tells the observer what came of a request.
func (e *engine) observe(a answered, now time.Time) {
	observer := e.d.config.Observer
	if observer == nil {
		return
	}
	pod := types.NamespacedName{Namespace: a.pod.Namespace, Name: a.pod.Name}
	switch {
	case a.outcome == accepted && a.by == byEviction:
		observer.Evicted(pod)
		if a.budget == nil {
			return
		}
		if open, was := e.opened.use(a.budget, now); was {
			observer.EvictedAfter(pod, open)
		}
	case a.refusal != nil:
		observer.Refused(pod, a.refusal.reason)
	}
}
