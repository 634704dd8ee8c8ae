// SPDX-License-Identifier: Apache-2.0

package idle

import (
	"maps"
	"slices"
	"time"
)

// Drain is what happened in a drain.
type Drain struct {
	Began, Ended time.Time
	// Pods are those in scope, each with its budget; an empty one allows always.
	Pods map[string]string
	// Budgets are the versions of each budget, in the order of time.
	Budgets map[string][]Version
	// Evictions are all that were sent.
	Evictions []Eviction
}

// Version is what a budget allowed from a time on.
type Version struct {
	At      time.Time
	Allowed bool
}

// Eviction of a pod.
type Eviction struct {
	Pod          string
	Began, Ended time.Time
	Accepted     bool
}

// Shares of the drain, from 0 to 1.
type Shares struct {
	// All is that in which some budget allowed an eviction and none at all was in
	// flight.
	All float64 `json:"all"`
	// PerBudget is the mean over budgets of that in which the budget allowed an
	// eviction and none under it was in flight.
	PerBudget float64 `json:"perBudget"`
}

// Of computes the shares of a drain.
func Of(d Drain) Shares {
	length := d.Ended.Sub(d.Began)
	names := d.budgets()
	if length <= 0 || len(names) == 0 {
		return Shares{}
	}
	budgets := make([]*budget, len(names))
	for i, name := range names {
		budgets[i] = d.budget(name)
	}
	var all, sum time.Duration
	times := d.times()
	for i := range len(times) - 1 {
		at, span := times[i], times[i+1].Sub(times[i])
		open, flying := false, false
		for _, b := range budgets {
			inFlight := b.inFlight(at)
			flying = flying || inFlight
			if b.evictable(at) {
				open = true
				if !inFlight {
					sum += span
				}
			}
		}
		if open && !flying {
			all += span
		}
	}
	return Shares{
		All:       float64(all) / float64(length),
		PerBudget: float64(sum) / float64(length) / float64(len(names)),
	}
}

// budgets are the names of those that have pods in scope.
func (d Drain) budgets() []string {
	return slices.Compact(slices.Sorted(maps.Values(d.Pods)))
}

// times are the moments at which something changes, within the drain.
func (d Drain) times() []time.Time {
	times := []time.Time{d.Began, d.Ended}
	add := func(t time.Time) {
		if t.After(d.Began) && t.Before(d.Ended) {
			times = append(times, t)
		}
	}
	for _, versions := range d.Budgets {
		for _, v := range versions {
			add(v.At)
		}
	}
	for _, e := range d.Evictions {
		add(e.Began)
		add(e.Ended)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// budget is one of them, with the evictions under it.
type budget struct {
	always    bool
	pods      int
	versions  []Version
	evictions []Eviction
}

func (d Drain) budget(name string) *budget {
	b := &budget{always: name == "", versions: d.Budgets[name]}
	for _, of := range d.Pods {
		if of == name {
			b.pods++
		}
	}
	for _, e := range d.Evictions {
		if of, inScope := d.Pods[e.Pod]; inScope && of == name {
			b.evictions = append(b.evictions, e)
		}
	}
	return b
}

func (b *budget) inFlight(at time.Time) bool {
	return slices.ContainsFunc(b.evictions, func(e Eviction) bool { return !at.Before(e.Began) && at.Before(e.Ended) })
}

// evictable says whether the budget allows an eviction and has a pod left for it.
func (b *budget) evictable(at time.Time) bool {
	left := b.pods
	for _, e := range b.evictions {
		if e.Accepted && !at.Before(e.Ended) {
			left--
		}
	}
	return left > 0 && (b.always || b.allowed(at))
}

func (b *budget) allowed(at time.Time) bool {
	allowed := false
	for _, v := range b.versions {
		if v.At.After(at) {
			break
		}
		allowed = v.Allowed
	}
	return allowed
}
