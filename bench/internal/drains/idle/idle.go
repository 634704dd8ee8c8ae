// SPDX-License-Identifier: Apache-2.0

package idle

import (
	"slices"
	"time"
)

// Drain is what happened in a drain.
type Drain struct {
	Began, Ended time.Time
	// Pods are those in scope, each with the name of its budget; an empty name allows always.
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
	// All is the share in which a budget allowed an eviction and none was in flight.
	All float64 `json:"all"`
	// PerBudget is the mean over budgets of the share in which the budget allowed an
	// eviction and none of its pods was being evicted.
	PerBudget float64 `json:"perBudget"`
}

// Of computes the shares of a drain.
func Of(d Drain) Shares {
	budgets := d.byBudget()
	length := d.Ended.Sub(d.Began)
	if length <= 0 || len(budgets) == 0 {
		return Shares{}
	}
	var all, perBudget time.Duration
	times := d.times()
	for i, at := range times[:len(times)-1] {
		span, open, flying := times[i+1].Sub(at), false, false
		for _, b := range budgets {
			evictable, inFlight := b.at(at)
			open, flying = open || evictable, flying || inFlight
			if evictable && !inFlight {
				perBudget += span
			}
		}
		if open && !flying {
			all += span
		}
	}
	return Shares{
		All:       float64(all) / float64(length),
		PerBudget: float64(perBudget) / float64(length) / float64(len(budgets)),
	}
}

// budget has pods in scope, and their evictions.
type budget struct {
	always    bool // there is no budget: evictions are always allowed
	pods      int
	versions  []Version
	evictions []Eviction
}

func (d Drain) byBudget() map[string]*budget {
	budgets := map[string]*budget{}
	for _, name := range d.Pods {
		if budgets[name] == nil {
			budgets[name] = &budget{always: name == "", versions: d.Budgets[name]}
		}
		budgets[name].pods++
	}
	for _, e := range d.Evictions {
		if name, inScope := d.Pods[e.Pod]; inScope {
			budgets[name].evictions = append(budgets[name].evictions, e)
		}
	}
	return budgets
}

// at says whether the budget allows an eviction and has a pod left for it, and whether an eviction is in flight.
func (b *budget) at(at time.Time) (evictable, inFlight bool) {
	left, allowed := b.pods, b.always
	for _, e := range b.evictions {
		inFlight = inFlight || !at.Before(e.Began) && at.Before(e.Ended)
		if e.Accepted && !at.Before(e.Ended) {
			left--
		}
	}
	for _, v := range b.versions {
		if v.At.After(at) {
			break
		}
		allowed = v.Allowed
	}
	return left > 0 && allowed, inFlight
}

// times returns the moments at which something changes, within the drain.
func (d Drain) times() []time.Time {
	times := []time.Time{d.Began, d.Ended}
	for _, versions := range d.Budgets {
		for _, v := range versions {
			times = append(times, v.At)
		}
	}
	for _, e := range d.Evictions {
		times = append(times, e.Began, e.Ended)
	}
	times = slices.DeleteFunc(times, func(t time.Time) bool { return t.Before(d.Began) || t.After(d.Ended) })
	slices.SortFunc(times, time.Time.Compare)
	return times
}
