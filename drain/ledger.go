// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// staleFor bounds the wait for the update of a budget that an accepted eviction must have caused. It is reached only if
// the watch lags or the update was merged with a later one.
const staleFor = 3 * time.Second

// ledger is the queue that the Drains of one Drainer share: it holds, for each budget, the one eviction that is in
// flight, or whose effect the watch has not shown yet.
//
// Two evictions at once under one budget would make the server write the same object twice; the loser waits half a
// second and more inside the server. And an eviction sent on a status that our own eviction has made stale would only be
// refused.
type ledger struct {
	clock  clock.PassiveClock
	random func() float64
	mu     sync.Mutex
	slots  map[types.UID]*slot
	// sent are the slots by age, and tried those of them that are probes, of which tries are counted.
	sent, tried ages
	tries       int
	rivals      rivalries
	lag         lag
	// contested: somebody else evicts under one of the budgets.
	contested bool
	// reach is how many budgets that nothing is known of may be tried at once.
	reach int
	// waiting are woken when one more may be tried.
	waiting map[signal]struct{}
}

type slot struct {
	pod, namespace string
	// entry is what the budget said about a pod of that name before, should an earlier eviction of it have failed.
	entry metav1.Time
	// taken is when the eviction was sent.
	taken time.Time
	// inFlight: the eviction is not answered.
	inFlight bool
	// seen: the watch has shown the budget with this eviction in it.
	seen bool
	// probes: nothing was known of the budget when the eviction was sent. counted: among those that are being tried.
	probes, counted bool
	// lost: the server refused the eviction for the sake of the budget, or what it says is forgotten.
	lost bool
	// until is when to stop waiting for that, once answered.
	until time.Time
	// waiting are woken when the slot becomes free.
	waiting map[signal]struct{}
	// free: it is not taken any more.
	free bool
}

func newLedger(c clock.PassiveClock) *ledger {
	return &ledger{
		clock: c, random: rand.Float64, slots: map[types.UID]*slot{}, rivals: rivalries{}, lag: lagFirst,
		reach: 1, waiting: map[signal]struct{}{},
	}
}

// busy tells whether the budget's slot is taken, left to another process, or not to be tried yet, and until when at most
// (zero: until an answer comes). Unless it is left to another, wake is poked when that changes.
func (l *ledger) busy(b *budget, wake signal) (until time.Time, taken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held(b, wake)
}

// held is busy for whoever has the lock.
func (l *ledger) held(b *budget, wake signal) (until time.Time, taken bool) {
	now := l.clock.Now()
	s, ok := l.slots[b.UID]
	if ok && s.expired(now) {
		l.free(b.UID)
		ok = false
	}
	if ok {
		s.waiting[wake] = struct{}{}
		return s.until, true
	}
	of := l.rivals.of(b)
	if !of.met {
		if tried, next := l.probing(now); tried >= l.reach {
			l.waiting[wake] = struct{}{}
			return next, true
		}
	}
	if l.contested && !of.met && !of.drawn {
		of.draw(now.Add(l.pause()))
	}
	return of.until, now.Before(of.until)
}

// take takes the budget's slot for the eviction of a pod, unless it is busy. Then wake is poked as busy says: both are
// found out under one lock, so that nobody takes the slot and frees it again between the two.
func (l *ledger) take(b *budget, pod string, wake signal) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, taken := l.held(b, wake); taken {
		return false
	}
	of := l.rivals.of(b)
	l.add(b.UID, &slot{
		pod:       pod,
		namespace: b.Namespace,
		entry:     b.Status.DisruptedPods[pod],
		taken:     l.clock.Now(),
		inFlight:  true,
		probes:    !of.met,
		waiting:   map[signal]struct{}{},
	})
	of.sent(pod)
	return true
}

// settle notes that the eviction has been answered. If it has changed the budget, the slot stays taken until the watch
// has shown the change.
func (l *ledger) settle(budget types.UID, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.slots[budget]
	if !ok {
		return
	}
	if !changed || s.seen || !l.rivals.watched(s.namespace, budget) {
		l.free(budget)
		return
	}
	s.inFlight = false
	s.until = l.clock.Now().Add(staleFor)
	wakeAll(s.waiting) // they hold no time for this slot yet
	wakeAll(l.waiting)
}

// lose notes, before settle, that the server refused the eviction of a pod for the sake of the budget.
func (l *ledger) lose(b *budget, pod string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, taken := l.slots[b.UID]; taken {
		s.lost = true
	}
	if !l.rivals.watched(b.Namespace, b.UID) {
		return
	}
	l.lag = l.lag.after(time.Duration(2 * l.lag))
	l.rivals.of(b).lost(pod, l.clock.Now(), l.pause())
}

// forget is told when the budgets of a namespace are not watched any more. A slot in flight is free once it is answered.
func (l *ledger) forget(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid := range l.rivals[namespace] {
		if s, taken := l.slots[uid]; taken && !s.inFlight {
			l.free(uid) // nobody is left to see its effect
		}
	}
	delete(l.rivals, namespace)
	if len(l.rivals) == 0 {
		l.reach, l.contested, l.lag = 1, false, lagFirst // whoever comes next meets others
		for _, s := range l.slots {
			s.lost = true
		}
	}
}

// pause is how long to leave a budget to others now.
func (l *ledger) pause() time.Duration {
	now, most := l.clock.Now(), l.lag
	if s := l.sent.oldest(func(s *slot) bool { return !s.free && !s.seen && !s.expired(now) }); s != nil {
		most = max(most, lag(now.Sub(s.taken)))
	}
	return min(most, lagMost).pause(l.random())
}

// probing counts the budgets that are being tried, and tells when the next of them will not count any more at the latest:
// one that takes long, as behind a webhook that hangs, must not hold up all others.
func (l *ledger) probing(now time.Time) (n int, next time.Time) {
	oldest := l.tried.oldest(func(s *slot) bool {
		if s.counted && !now.Before(s.taken.Add(time.Duration(lagMost))) {
			l.uncount(s)
		}
		return s.counted
	})
	if oldest == nil {
		return 0, time.Time{}
	}
	return l.tries, oldest.taken.Add(time.Duration(lagMost))
}

// add takes a slot.
func (l *ledger) add(budget types.UID, s *slot) {
	l.slots[budget] = s
	l.sent.add(s, len(l.slots))
	if s.probes {
		s.counted = true
		l.tries++
		l.tried.add(s, len(l.slots))
	}
}

// uncount counts a slot no more among those that are being tried.
func (l *ledger) uncount(s *slot) {
	if s.counted {
		s.counted = false
		l.tries--
	}
}

// observe is told each version of a budget that the watch shows.
func (l *ledger) observe(b *budget) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rivals.of(b).saw(b, l.clock.Now(), l.pause()) {
		l.contested = true
	}
	s, ok := l.slots[b.UID]
	if !ok {
		return
	}
	// The server enters each pod that it evicts under a budget into the budget's status.
	entry, ok := b.Status.DisruptedPods[s.pod]
	if !ok || entry.Equal(&s.entry) {
		return
	}
	if !s.seen {
		l.lag = l.lag.after(l.clock.Now().Sub(s.taken))
	}
	s.seen = true
	if !s.inFlight {
		l.free(b.UID)
	}
}

func (l *ledger) free(budget types.UID) {
	s := l.slots[budget]
	delete(l.slots, budget)
	s.free = true
	l.uncount(s)
	if s.probes && !s.lost {
		l.reach++
	}
	wakeAll(s.waiting)
	wakeAll(l.waiting)
}

// expired: the watch should have shown the eviction by now.
func (s *slot) expired(now time.Time) bool { return !s.inFlight && !now.Before(s.until) }

func wakeAll(waiting map[signal]struct{}) {
	for w := range waiting {
		w.poke()
	}
	clear(waiting)
}

// ages are slots in the order in which they were taken, the oldest first. With many Drains under many budgets, each of
// them asks for each budget in each pass: nothing may look at all slots then.
type ages struct {
	slots []*slot
}

// agesKept is how many slots may be kept besides twice those that are taken, until those that are free again are dropped.
const agesKept = 16

// add appends a slot that was taken now, one of that many.
func (a *ages) add(s *slot, taken int) {
	if len(a.slots) > 2*taken+agesKept {
		a.slots = slices.DeleteFunc(a.slots, func(s *slot) bool { return s.free })
	}
	a.slots = append(a.slots, s)
}

// oldest is the oldest slot that matters; nil: there is none. One that does not matter never will again.
func (a *ages) oldest(matters func(*slot) bool) *slot {
	for len(a.slots) > 0 {
		if s := a.slots[0]; matters(s) {
			return s
		}
		a.slots[0] = nil
		a.slots = a.slots[1:]
	}
	return nil
}
