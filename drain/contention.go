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

// contention is what one process knows of other processes that evict under the same budgets. They have no queue in common,
// and all of them see a budget open at once. What they do have in common is the budget: the server enters each eviction into
// its status, and the watch shows the entries to all in the same order. Hence the rule by which they take turns:
//
// The process whose eviction was entered last goes on without delay. Every other process leaves the budget alone for some
// quiet time whenever it opens, and after that waits for a turn drawn at random; if the budget closes meanwhile, that has
// cost nothing. So one process takes all that a budget gives until none of its pods is left, only then there is a draw, and a
// process that sees no entries but its own never waits.
//
// In the first moments no process sees any entries. Processes that begin together therefore probe: each tries one budget
// first, and with each eviction that is entered one more of those that it knows nothing of (reach). A process that meets
// another one under one budget draws for the other budgets too.
//
// budgetQueue calls it, with its lock: yields before an eviction; sends, loses, entered and ends during one; sees for each
// version of a budget; forgets at the end of a watch.
type contention struct {
	random func() float64
	// by are the budgets that are watched, by namespace.
	by contenders
	// sent are the reservations by age, and tried those of them that are probes, of which tries are counted.
	sent, tried ages
	tries       int
	lag         lag
	// contested: another process evicts under one of the budgets.
	contested bool
	// reach is how many budgets that nothing is known of may be tried at once.
	reach int
	// waiting are woken when one more may be tried.
	waiting map[watchstore.Signal]struct{}
}

// attempt is what contention keeps of a reservation.
type attempt struct {
	// probes: nothing was known of the budget when the eviction was sent. counted: among those that are being tried.
	probes, counted bool
	// lost: the server refused the eviction for the sake of the budget, or what it says is forgotten.
	lost bool
}

func newContention() contention {
	return contention{random: rand.Float64, by: contenders{}, lag: lagFirst, reach: 1, waiting: map[watchstore.Signal]struct{}{}}
}

// yields reports whether to leave a budget alone that is not reserved, and until when.
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

// sends is told of a reservation, one of that many, whose eviction is about to be sent.
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

// loses is told that the server refused an eviction for the sake of the budget. The reservation may have ended.
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

// sees is told of a version of a budget.
func (c *contention) sees(b *budget, now time.Time) {
	if c.by.of(b).saw(b, now, c.pause(now)) {
		c.contested = true
	}
}

// entered is told that the watch has shown the entry of an eviction for the first time.
func (c *contention) entered(r *reservation, now time.Time) { c.lag = c.lag.after(now.Sub(r.taken)) }

// ends is told that a reservation has ended.
func (c *contention) ends(r *reservation) {
	c.uncount(r)
	if r.probes && !r.lost {
		c.reach++
	}
	wakeAll(c.waiting)
}

// forgets is told that the budgets of a namespace are not watched any more.
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

// pause is how long to leave a budget to other processes now.
func (c *contention) pause(now time.Time) time.Duration {
	most := c.lag
	if r := c.sent.oldest(func(r *reservation) bool { return !r.free && !r.seen && !r.expired(now) }); r != nil {
		most = max(most, lag(now.Sub(r.taken)))
	}
	return min(most, lagMost).pause(c.random())
}

// probing counts the budgets that are being tried, and tells when the next of them will not count any more at the latest:
// one that takes long, as behind a webhook that hangs, must not hold up all others.
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

// uncount counts a reservation no more among those that are being tried.
func (c *contention) uncount(r *reservation) {
	if r.counted {
		r.counted = false
		c.tries--
	}
}

// contender is what contention knows of one budget.
type contender struct {
	// ours are the pods that this process has sent evictions of, until their entries have come and gone.
	ours map[string]bool
	// entries and open are those of the newest version of the budget.
	entries map[string]metav1.Time
	open    bool
	// met: the watch has shown an entry, of any process. drawn: we have drawn before that.
	met, drawn bool
	// yields: the newest entry is another process's.
	yields bool
	// until is when our turn comes, if the budget is still open then.
	until time.Time
}

// sent records an eviction that is about to be sent.
func (r *contender) sent(pod string) { r.ours[pod] = true }

// saw takes in a version of the budget, and reports whether it shows another process at work. pause is how long to wait,
// should it be our lot to wait.
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

// news tells whose evictions are entered that were not before, and forgets those of ours that are not any more.
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

// draw sets our turn under a budget that nothing is known of, because of processes that were met under others.
func (r *contender) draw(until time.Time) { r.drawn, r.until = true, until }

// lost records that the server refused our eviction for the sake of the budget: another process was faster, or something
// else has closed it. The next version of the budget tells; until then another eviction leads to nothing.
func (r *contender) lost(pod string, now time.Time, pause time.Duration) {
	delete(r.ours, pod)
	r.until = now.Add(pause)
}

// contenders are those of all budgets that are watched, by namespace.
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

// lag is how long it lately took from sending an eviction until the watch showed it: so long no other process can know of
// it. It grows where the server is busy, and where processes collide: the server holds up the slower one by half a second.
// An eviction that is still under way says more than those before it (pause).
type lag time.Duration

const (
	// lagFirst is a guess, for the moments in which many begin at once; lagLeast and lagMost bound what is measured.
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

// pause is how long to leave a budget to other processes. random is in [0,1).
func (l lag) pause(random float64) time.Duration {
	return time.Duration((quiet + random*window) * float64(l))
}

// ages are reservations in the order in which they began, the oldest first. With many loops under many budgets, each of them
// asks for each budget in each pass: a question must not look at all reservations.
type ages struct {
	all []*reservation
}

// agesKept is how many reservations may be kept besides twice those that last, until those that have ended are dropped.
const agesKept = 16

// add appends a reservation that begins now, one of that many.
func (a *ages) add(r *reservation, reserved int) {
	if len(a.all) > 2*reserved+agesKept {
		a.all = slices.DeleteFunc(a.all, func(r *reservation) bool { return r.free })
	}
	a.all = append(a.all, r)
}

// oldest is the oldest reservation that matters; nil: there is none. One that does not matter never will again.
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
