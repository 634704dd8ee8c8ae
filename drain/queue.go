// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// staleFor limits the wait for the update of a budget after an accepted eviction. The wait is that long only if the watch lags,
// or has merged the update with a later update.
const staleFor = 3 * time.Second

// budgetQueue is common to all loops of one Drainer: it reserves each budget for one eviction, from its begin until the watch
// shows its effect.
//
// Two evictions at once under one budget would make the server write the same object twice; the loser waits half a
// second and more inside the server. And an eviction sent on a status that our own eviction has made stale would only be
// refused.
//
// contention, which it calls with the lock, decides about budgets that it leaves to other processes.
type budgetQueue struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	// reserved are the reservations, by budget.
	reserved map[types.UID]*reservation
	// watched are the budgets that a watch shows, by namespace.
	watched map[string]map[types.UID]bool
	contention
}

// reservation is one eviction under a budget.
type reservation struct {
	pod, namespace string
	// entry is the budget's earlier entry for a pod of that name, after a failed eviction.
	entry metav1.Time
	// taken is the begin of the eviction.
	taken time.Time
	// inFlight: the answer is still to come.
	inFlight bool
	// seen: the watch has shown the budget with this eviction in it.
	seen bool
	// until is the end of the wait for that after the answer.
	until time.Time
	// waiting are woken when the reservation ends.
	waiting map[watchstore.Signal]struct{}
	// free: the reservation has ended.
	free bool
	attempt
}

func newBudgetQueue(c clock.PassiveClock) *budgetQueue {
	return &budgetQueue{
		clock: c, reserved: map[types.UID]*reservation{}, watched: map[string]map[types.UID]bool{}, contention: newContention(),
	}
}

// busy reports whether the budget is reserved, or left to another process, and the latest end of that (zero: the next answer).
// It pokes wake when the reservation ends.
func (q *budgetQueue) busy(b *budget, wake watchstore.Signal) (until time.Time, busy bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held(b, wake)
}

// held is busy with the lock.
func (q *budgetQueue) held(b *budget, wake watchstore.Signal) (until time.Time, busy bool) {
	now := q.clock.Now()
	r, ok := q.reserved[b.UID]
	if ok && r.expired(now) {
		q.free(b.UID)
		ok = false
	}
	if ok {
		r.waiting[wake] = struct{}{}
		return r.until, true
	}
	return q.yields(b, now, wake)
}

// reserve reserves the budget for the eviction of a pod, unless it is busy. In that case it pokes wake as busy does: both use
// one lock, so that no reservation begins and ends between the two.
func (q *budgetQueue) reserve(b *budget, pod string, wake watchstore.Signal) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, busy := q.held(b, wake); busy {
		return false
	}
	r := &reservation{
		pod:       pod,
		namespace: b.Namespace,
		entry:     b.Status.DisruptedPods[pod],
		taken:     q.clock.Now(),
		inFlight:  true,
		waiting:   map[watchstore.Signal]struct{}{},
	}
	q.reserved[b.UID] = r
	q.watch(b)
	q.sends(b, r, len(q.reserved))
	return true
}

func (q *budgetQueue) watch(b *budget) {
	if q.watched[b.Namespace] == nil {
		q.watched[b.Namespace] = map[types.UID]bool{}
	}
	q.watched[b.Namespace][b.UID] = true
}

// settle follows the answer to the eviction. If the eviction has changed the budget, the reservation stays until the watch
// has shown the change.
func (q *budgetQueue) settle(budget types.UID, changed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, ok := q.reserved[budget]
	if !ok {
		return
	}
	if !changed || r.seen || !q.watched[r.namespace][budget] {
		q.free(budget)
		return
	}
	r.inFlight = false
	r.until = q.clock.Now().Add(staleFor)
	wakeAll(r.waiting) // they hold no time for this reservation yet
	wakeAll(q.waiting)
}

// refused precedes settle if the server refused the eviction of a pod because of the budget.
func (q *budgetQueue) refused(b *budget, pod string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.loses(b, q.reserved[b.UID], pod, q.watched[b.Namespace][b.UID], q.clock.Now())
}

// observe receives each version of a budget from the watch.
func (q *budgetQueue) observe(b *budget) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	q.watch(b)
	q.sees(b, now)
	r, ok := q.reserved[b.UID]
	if !ok {
		return
	}
	// The server enters each pod that it evicts under a budget into the budget's status.
	entry, ok := b.Status.DisruptedPods[r.pod]
	if !ok || entry.Equal(&r.entry) {
		return
	}
	if !r.seen {
		q.entered(r, now)
	}
	r.seen = true
	if !r.inFlight {
		q.free(b.UID)
	}
}

// forget ends the knowledge about the budgets of a namespace, because their watch has ended. A reservation in flight ends with
// its answer.
func (q *budgetQueue) forget(namespace string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for uid := range q.watched[namespace] {
		if r, reserved := q.reserved[uid]; reserved && !r.inFlight {
			q.free(uid) // the watch that would show its effect has ended
		}
	}
	delete(q.watched, namespace)
	q.forgets(namespace, q.reserved)
}

// free ends a reservation.
func (q *budgetQueue) free(budget types.UID) {
	r := q.reserved[budget]
	delete(q.reserved, budget)
	r.free = true
	wakeAll(r.waiting)
	q.ends(r)
}

// expired: the watch should have shown the eviction by now.
func (r *reservation) expired(now time.Time) bool { return !r.inFlight && !now.Before(r.until) }

func wakeAll(waiting map[watchstore.Signal]struct{}) {
	for w := range waiting {
		w.Poke()
	}
	clear(waiting)
}
