// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// rivalry is what one process knows of others that evict under the same budget. They have no queue in common, and all
// of them see the budget open at once. What they do have in common is the budget: the server enters each eviction into
// its status, and the watch shows the entries to all in the same order. Hence the rule by which they part:
//
// Whose eviction was the last to be entered goes on without delay. Everybody else leaves it some quiet time whenever the
// budget opens, and after that waits for a turn drawn at random; if the budget closes meanwhile, that has cost nothing.
// So one process takes all that a budget gives until none of its pods is left, only then there is a draw, and who sees no
// entries but its own never waits.
//
// In the first moments nobody sees any entries. Processes that begin together therefore feel their way: each tries one
// budget first, and with each eviction that is entered one more of those that it knows nothing of (ledger.reach). Whoever
// meets a rival under one budget draws for the others too.
type rivalry struct {
	// ours are the pods that this process has sent evictions of, until their entries have come and gone.
	ours map[string]bool
	// entries and open are those of the newest version of the budget.
	entries map[string]metav1.Time
	open    bool
	// met: we have seen an entry, ours or somebody else's. drawn: we have drawn before we saw any.
	met, drawn bool
	// yields: the newest entry is somebody else's.
	yields bool
	// until is when our turn comes, if the budget is still open then.
	until time.Time
}

// sent notes an eviction that is about to be sent.
func (r *rivalry) sent(pod string) { r.ours[pod] = true }

// saw notes a version of the budget that the watch has shown, and tells whether it shows somebody else at work. pause is
// how long to wait, should it be our lot to wait.
func (r *rivalry) saw(b *budget, now time.Time, pause time.Duration) (theirs bool) {
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
func (r *rivalry) news(entries map[string]metav1.Time) (ours, theirs bool) {
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

// draw notes our turn under a budget that nothing is known of, for the sake of rivals that were met under others.
func (r *rivalry) draw(until time.Time) { r.drawn, r.until = true, until }

// lost notes that the server refused our eviction for the sake of the budget: somebody else was faster, or something
// else has closed it. The next version of the budget tells; until then nothing good can come of another eviction.
func (r *rivalry) lost(pod string, now time.Time, pause time.Duration) {
	delete(r.ours, pod)
	r.until = now.Add(pause)
}

// rivalries are those of all budgets that are watched, by namespace.
type rivalries map[string]map[types.UID]*rivalry

func (all rivalries) of(b *budget) *rivalry {
	of := all[b.Namespace]
	if of == nil {
		of = map[types.UID]*rivalry{}
		all[b.Namespace] = of
	}
	if of[b.UID] == nil {
		of[b.UID] = &rivalry{ours: map[string]bool{}}
	}
	return of[b.UID]
}

// watched says whether there is one of the budget: not before it is shown, nor when nobody watches it any more.
func (all rivalries) watched(namespace string, budget types.UID) bool {
	return all[namespace][budget] != nil
}

// lag is how long it lately took from sending an eviction until the watch showed it: so long nobody else can know of it.
// It grows where the server is busy, and where rivals collide: the server holds up whoever was slower by half a second.
// An eviction that is still under way says more than those before it (ledger.pause).
type lag time.Duration

const (
	// lagFirst is a guess, for the moments in which many begin at once; lagLeast and lagMost bound what is measured.
	lagFirst = lag(200 * time.Millisecond)
	lagLeast = lag(10 * time.Millisecond)
	lagMost  = lag(500 * time.Millisecond)
	// quiet and window are the two parts of a pause, in lags. A longer window costs time whenever a budget passes from one
	// process to another, a shorter one costs refusals: ten rivals under ten budgets have about one refusal in ten
	// evictions, and leave a budget alone for one part in twenty of its time (bench drain, scenario e).
	quiet  = 1.5
	window = 2
)

func (l lag) after(took time.Duration) lag {
	return min(max(l+(lag(took)-l)/4, lagLeast), lagMost)
}

// pause is how long to leave a budget to others. random is in [0,1).
func (l lag) pause(random float64) time.Duration {
	return time.Duration((quiet + random*window) * float64(l))
}
