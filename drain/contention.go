// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// contention is the knowledge of one process about other processes that evict under the same budgets. They have no common
// queue, and all see a budget open at once. But they have the budget in common: the server enters each eviction into
// its status, and the watch shows the entries to all processes in the same order. Hence their rule:
//
// The process of the latest entry continues without delay. Every other process leaves the budget alone for some
// quiet time whenever it opens, and after that waits for a random time; if the budget closes meanwhile, the wait has
// cost no time. So one process uses all disruptions of a budget until it has no pods left, only then the processes draw, and a
// process that sees only its own entries never waits.
//
// In the first moments no process sees any entries. Processes that begin together therefore probe: each tries one budget
// first, and with each entered eviction one more unknown budget (reach). A process that meets
// another process under one budget draws for the other budgets too.
//
// budgetQueue calls it, with its lock: yields before an eviction; sends, loses, entered and ends during one; sees for each
// version of a budget; forgets at the end of a watch.
type contention struct {
	random func() float64
	// by are the budgets that are watched, by namespace.
	by contenders
	// sent are the reservations by age, and tried the probes among them, of which tries count.
	sent, tried ages
	tries       int
	lag         lag
	// contested: another process evicts under one of the budgets.
	contested bool
	// reach is the number of unknown budgets that the process may try at once.
	reach int
	// waiting are woken when the process may try one more.
	waiting map[watchstore.Signal]struct{}
}

// attempt is contention's part of a reservation.
type attempt struct {
	// probes: the budget was unknown when the eviction began. counted: the reservation counts as a current try.
	probes, counted bool
	// lost: the server refused the eviction because of the budget, or its entry does not count.
	lost bool
}

func newContention() contention {
	return contention{random: rand.Float64, by: contenders{}, lag: lagFirst, reach: 1, waiting: map[watchstore.Signal]struct{}{}}
}

// yields reports whether to leave an unreserved budget to other processes, and the end of that.
func (c *contention) yields(b *budget, now time.Time, wake watchstore.Signal) (until time.Time, yields bool) {
	of := c.by.of(b)
	if !of.met {
		if tried, next := c.probing(now); tried >= c.reach {
			c.waiting[wake] = struct{}{}
			return next, true
		}
	}
	if c.contested && !of.met && !of.drawn {
		of.draw(now.Add(c.pause(now)))
	}
	return of.until, now.Before(of.until)
}

// sends records a reservation, one of that many, before its eviction.
func (c *contention) sends(b *budget, r *reservation, reserved int) {
	of := c.by.of(b)
	of.sent(r.pod)
	c.sent.add(r, reserved)
	if r.probes = !of.met; r.probes {
		r.counted = true
		c.tries++
		c.tried.add(r, reserved)
	}
}

// loses records that the server refused an eviction because of the budget. The reservation may have ended.
func (c *contention) loses(b *budget, r *reservation, pod string, watched bool, now time.Time) {
	if r != nil {
		r.lost = true
	}
	if !watched {
		return
	}
	c.lag = c.lag.after(time.Duration(2 * c.lag))
	c.by.of(b).lost(pod, now, c.pause(now))
}

// sees records a version of a budget.
func (c *contention) sees(b *budget, now time.Time) {
	if c.by.of(b).saw(b, now, c.pause(now)) {
		c.contested = true
	}
}

// entered records that the watch has shown the entry of an eviction for the first time.
func (c *contention) entered(r *reservation, now time.Time) { c.lag = c.lag.after(now.Sub(r.taken)) }

// ends records the end of a reservation.
func (c *contention) ends(r *reservation) {
	c.uncount(r)
	if r.probes && !r.lost {
		c.reach++
	}
	wakeAll(c.waiting)
}

// forgets ends the knowledge about the budgets of a namespace, because their watch has ended.
func (c *contention) forgets(namespace string, reserved map[types.UID]*reservation) {
	delete(c.by, namespace)
	if len(c.by) > 0 {
		return
	}
	c.reach, c.contested, c.lag = 1, false, lagFirst // the next drain meets other processes
	for _, r := range reserved {
		r.lost = true
	}
}

// pause returns the time for which to leave a budget to other processes now.
func (c *contention) pause(now time.Time) time.Duration {
	most := c.lag
	if r := c.sent.oldest(func(r *reservation) bool { return !r.free && !r.seen && !r.expired(now) }); r != nil {
		most = max(most, lag(now.Sub(r.taken)))
	}
	return min(most, lagMost).pause(c.random())
}

// probing counts the current tries, and returns the latest time at which the next of them will stop counting: a long try, as
// behind a webhook that hangs, must not block all other budgets.
func (c *contention) probing(now time.Time) (n int, next time.Time) {
	oldest := c.tried.oldest(func(r *reservation) bool {
		if r.counted && !now.Before(r.taken.Add(time.Duration(lagMost))) {
			c.uncount(r)
		}
		return r.counted
	})
	if oldest == nil {
		return 0, time.Time{}
	}
	return c.tries, oldest.taken.Add(time.Duration(lagMost))
}

// uncount ends the count of a reservation as a current try.
func (c *contention) uncount(r *reservation) {
	if r.counted {
		r.counted = false
		c.tries--
	}
}

// contender is the knowledge about one budget.
type contender struct {
	// `ours` are the pods that this process evicts, until their entries have appeared and disappeared.
	ours map[string]bool
	// entries and open describe the newest version of the budget.
	entries map[string]metav1.Time
	open    bool
	// met: the watch has shown an entry, of any process. drawn: this process has drawn before that.
	met, drawn bool
	// yields: the newest entry belongs to another process.
	yields bool
	// until is the time from which this process may use the budget, if it is still open then.
	until time.Time
}

// sent records an eviction before its request.
func (r *contender) sent(pod string) { r.ours[pod] = true }

// saw records a version of the budget, and reports whether it shows an eviction of another process. pause is the time to wait
// if this process must wait.
func (r *contender) saw(b *budget, now time.Time, pause time.Duration) (theirs bool) {
	ours, theirs := r.news(b.Status.DisruptedPods)
	if ours || theirs {
		r.met, r.yields = true, theirs
	}
	opens := !r.open
	r.entries, r.open = b.Status.DisruptedPods, refusalOf(b) == nil
	switch {
	case !r.open, !r.yields:
		r.until = time.Time{}
	case opens, theirs:
		r.until = now.Add(pause)
	}
	return theirs
}

// news reports whether new entries are this process's or another's, and forgets its entries that have disappeared.
func (r *contender) news(entries map[string]metav1.Time) (ours, theirs bool) {
	for pod, entered := range entries {
		if before, known := r.entries[pod]; known && before.Equal(&entered) {
			continue
		}
		ours, theirs = ours || r.ours[pod], theirs || !r.ours[pod]
	}
	for pod := range r.entries {
		if _, still := entries[pod]; !still {
			delete(r.ours, pod)
		}
	}
	return ours, theirs
}

// draw sets the time for an unknown budget, because this process has met another process under other budgets.
func (r *contender) draw(until time.Time) { r.drawn, r.until = true, until }

// lost records that the server refused an eviction because of the budget: another process was faster, or another cause has
// closed it. Until the next version of the budget shows which, further evictions have no effect.
func (r *contender) lost(pod string, now time.Time, pause time.Duration) {
	delete(r.ours, pod)
	r.until = now.Add(pause)
}

// contenders has the contender of each watched budget, by namespace.
type contenders map[string]map[types.UID]*contender

func (all contenders) of(b *budget) *contender {
	of := all[b.Namespace]
	if of == nil {
		of = map[types.UID]*contender{}
		all[b.Namespace] = of
	}
	if of[b.UID] == nil {
		of[b.UID] = &contender{ours: map[string]bool{}}
	}
	return of[b.UID]
}

// lag is the recent time from the begin of an eviction until the watch showed it: no other process can know of it before. It
// grows with the load of the server, and when processes collide: the server delays the slower process by half a second.
// An eviction in flight can show a longer lag (pause).
type lag time.Duration

const (
	// lagFirst is a guess, for the moments in which many processes begin at once; lagLeast and lagMost limit the measured lag.
	lagFirst = lag(200 * time.Millisecond)
	lagLeast = lag(10 * time.Millisecond)
	lagMost  = lag(500 * time.Millisecond)
	// quiet and window are the two parts of a pause, in lags. A longer window costs time whenever a budget passes from one
	// process to another, a shorter one costs refusals: ten processes under ten budgets have about one refusal in ten
	// evictions, and leave a budget alone for one part in twenty of its time (bench drain, scenario e).
	quiet  = 1.5
	window = 2
)

func (l lag) after(took time.Duration) lag {
	return min(max(l+(lag(took)-l)/4, lagLeast), lagMost)
}

// pause returns the time for which to leave a budget to other processes. random is in [0,1).
func (l lag) pause(random float64) time.Duration {
	return time.Duration((quiet + random*window) * float64(l))
}

// ages are reservations in the order in which they began, the oldest first. Many loops check many budgets in each pass: a check
// must not visit all reservations.
type ages struct {
	all []*reservation
}

// agesKept limits the reservations, in addition to twice the current ones: above that, ages drops ended reservations.
const agesKept = 16

// add appends a reservation that begins now, one of that many.
func (a *ages) add(r *reservation, reserved int) {
	if len(a.all) > 2*reserved+agesKept {
		a.all = slices.DeleteFunc(a.all, func(r *reservation) bool { return r.free })
	}
	a.all = append(a.all, r)
}

// oldest returns the oldest reservation that matters, or nil. It drops other reservations: these never matter again.
func (a *ages) oldest(matters func(*reservation) bool) *reservation {
	for len(a.all) > 0 {
		if r := a.all[0]; matters(r) {
			return r
		}
		a.all[0] = nil
		a.all = a.all[1:]
	}
	return nil
}
