// SPDX-License-Identifier: Apache-2.0

package idle

import (
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
	pods, evictions := map[string]int{}, map[string][]Eviction{} // by budget
	for _, budget := range d.Pods {
		pods[budget]++
	}
	for _, e := range d.Evictions {
		if budget, inScope := d.Pods[e.Pod]; inScope {
			evictions[budget] = append(evictions[budget], e)
		}
	}
	length := d.Ended.Sub(d.Began)
	if length <= 0 || len(pods) == 0 {
		return Shares{}
	}
	var all, perBudget time.Duration
	times := d.times()
	for i, at := range times[:len(times)-1] {
		span, open, flying := times[i+1].Sub(at), false, false
		for budget, left := range pods {
			inFlight := false
			for _, e := range evictions[budget] {
				inFlight = inFlight || !at.Before(e.Began) && at.Before(e.Ended)
				if e.Accepted && !at.Before(e.Ended) {
					left--
				}
			}
			flying = flying || inFlight
			if left > 0 && (budget == "" || allowed(d.Budgets[budget], at)) {
				open = true
				if !inFlight {
					perBudget += span
				}
			}
		}
		if open && !flying {
			all += span
		}
	}
	return Shares{
		All:       float64(all) / float64(length),
		PerBudget: float64(perBudget) / float64(length) / float64(len(pods)),
	}
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

// allowed says whether the last version until a time allowed an eviction.
func allowed(versions []Version, at time.Time) bool {
	allowed := false
	for _, v := range versions {
		if v.At.After(at) {
			break
		}
		allowed = v.Allowed
	}
	return allowed
}
