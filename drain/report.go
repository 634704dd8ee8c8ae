// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// statusReporter reports each Status to the caller, one at a time, without holding up the drain: while the caller is busy
// with one, only the newest Status is kept for the next report.
type statusReporter struct {
	report func(Status)
	wake   watchstore.Signal
	done   chan struct{}

	mu     sync.Mutex
	latest Status
	fresh  bool
	closed bool
}

func newStatusReporter(report func(Status)) *statusReporter {
	p := &statusReporter{report: report, wake: watchstore.NewSignal(), done: make(chan struct{})}
	if report == nil {
		close(p.done)
		return p
	}
	go p.deliver()
	return p
}

// offer hands over a Status. It does not keep one that says the same as the last.
func (p *statusReporter) offer(s Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest.equal(s) {
		return
	}
	p.latest, p.fresh = s, true
	p.wake.Poke()
}

// close waits until the last Status is delivered.
func (p *statusReporter) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wake.Poke()
	<-p.done
}

func (p *statusReporter) deliver() {
	defer close(p.done)
	for range p.wake {
		s, fresh, closed := p.next()
		if fresh {
			p.report(s)
		}
		if closed {
			return
		}
	}
}

func (p *statusReporter) next() (s Status, fresh, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, fresh, closed = p.latest, p.fresh, p.closed
	p.fresh = false
	return s, fresh, closed
}

// Observer counts what becomes of evictions. Its methods may be called by several Drains at a time; they must not block.
type Observer interface {
	// Evicted: the server accepted an eviction.
	Evicted()
	// Refused: the server did not accept an eviction, or a deletion. It is called for each try; the reason is that of a
	// Blocker.
	Refused(reason string)
	// EvictedAfter follows Evicted where a disruption budget had to allow it: how long it took from when this loop saw that
	// the budget allows a disruption, or has got room for one more, until the server had accepted the eviction.
	EvictedAfter(open time.Duration)
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
	switch {
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
