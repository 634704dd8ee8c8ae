// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// statusReporter reports each Status to the caller, one at a time, without a delay for the drain: while the caller is busy
// with a Status, a newer one replaces the next. Its methods belong to the loop.
type statusReporter struct {
	offered Status
	next    chan Status
	deliver sync.WaitGroup
}

func newStatusReporter(report func(Status)) *statusReporter {
	r := &statusReporter{next: make(chan Status, 1)}
	r.deliver.Go(func() {
		for s := range r.next {
			if report != nil {
				report(s)
			}
		}
	})
	return r
}

// offer reports a Status unless it equals the last one.
func (r *statusReporter) offer(s Status) {
	if !r.offered.equal(s) {
		r.offered = s
		replace(r.next, s)
	}
}

// close waits until the last Status is delivered.
func (r *statusReporter) close() {
	close(r.next)
	r.deliver.Wait()
}

// replace puts a value into a channel with room for one, in place of an older value. Only one goroutine may send.
func replace[T any](to chan T, value T) {
	select {
	case <-to:
	default:
	}
	to <- value
}

// Observer counts evictions and refusals. Its methods may be called by several Drains at a time; they must not block.
type Observer interface {
	// Evicted follows each eviction that the server accepted.
	Evicted()
	// Refused follows each eviction or deletion that the server did not accept, with the Reason of the Blocker.
	Refused(reason string)
	// EvictedAfter follows Evicted if a PodDisruptionBudget had to allow the eviction. open is the time from the moment at
	// which this loop saw the budget allow one more disruption until the server accepted the eviction.
	EvictedAfter(open time.Duration)
}

// opening is a budget that allows a disruption, in a version and since a time. Zero: since its last eviction it does not.
type opening struct {
	version string
	since   time.Time
}

// openings are the budgets that allow a disruption now. An eviction uses an opening up; a later version of the budget may show
// the next.
type openings map[types.UID]opening

// saw records the current budgets, and forgets all other budgets: their changes are unknown.
func (o openings) saw(budgets map[string][]*budget, now time.Time) {
	looked := map[types.UID]bool{}
	for _, of := range budgets {
		for _, b := range of {
			looked[b.UID] = true
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
	maps.DeleteFunc(o, func(uid types.UID, _ opening) bool { return !looked[uid] })
}

// use ends an opening, and returns its length. was is false if no version of the budget was open, as may be for an unready
// pod.
func (o openings) use(b *budget, now time.Time) (open time.Duration, was bool) {
	before, known := o[b.UID]
	if !known || before.since.IsZero() {
		return 0, false
	}
	o[b.UID] = opening{version: before.version}
	return now.Sub(before.since), true
}

// observe reports an answer to the observer.
func (e *engine) observe(a answered, now time.Time) {
	observer := e.d.config.Observer
	switch {
	case observer == nil:
	case a.outcome == accepted && a.by == byEviction:
		observer.Evicted()
		if a.budget == nil {
			return
		}
		if open, was := e.opened.use(a.budget, now); was {
			observer.EvictedAfter(open)
		}
	case a.refusal != nil:
		observer.Refused(string(a.refusal.reason))
	}
}
