// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Run is one drain by one contender, in numbers.
type Run struct {
	Scenario   string `json:"scenario"`
	Contender  string `json:"contender"`
	Repetition int    `json:"repetition"`
	// Seconds is the wall time.
	Seconds float64 `json:"seconds"`
	// Bound is the least time that it can take, in seconds. Zero: there is no such bound.
	Bound     float64   `json:"bound,omitempty"`
	Evictions Evictions `json:"evictions"`
	// Total is the number of the contender's requests. Others are neither watches, evictions nor core
	// Events. Later are those after the first [settling] of the drain.
	Total  int `json:"total"`
	Others int `json:"others"`
	Later  int `json:"later"`
	CPU    CPU `json:"cpu"`
	// Broken are invariants that the audit log shows to be violated. Only Slipway's are checked.
	Broken []string `json:"broken,omitempty"`
}

// settling is the time in which a contender can find out that a drain cannot end.
const settling = 5 * time.Second

// Evictions are counted by their answers.
type Evictions struct {
	Sent     int `json:"sent"`
	Accepted int `json:"accepted"`
	// Refused counts the refusals by a budget, or by the API server's own limits (429).
	Refused int `json:"refused"`
	// Failed counts all further evictions, such as evictions of pods that had left.
	Failed int `json:"failed"`
}

// CPU is the cost of the drain for the machine.
type CPU struct {
	// Busy is the share of all cores that were in use, by any program.
	Busy float64 `json:"busy"`
	// Seconds are CPU seconds of each component of the control plane.
	Seconds map[string]float64 `json:"seconds"`
}

// drained selects the requests of a drain.
type drained struct {
	sent func(auditlog.Request) bool // by the contender
	// began and ended bound the drain; at over the contender had cleaned up, too.
	began, ended, over time.Time
}

// measure counts the requests of a drain.
func measure(requests []auditlog.Request, d drained) Run {
	r := Run{Seconds: d.ended.Sub(d.began).Seconds()}
	for _, request := range requests {
		if !d.sent(request) || request.Began.Before(d.began) || request.Began.After(d.over) {
			continue
		}
		r.count(request)
		if request.Began.After(d.began.Add(settling)) {
			r.Later++
		}
	}
	return r
}

func (r *Run) count(request auditlog.Request) {
	r.Total++
	switch {
	case request.Resource != "pods" || request.Subresource != "eviction" || request.Verb != "create":
		if !isWatch(request) && request.Resource != "events" {
			r.Others++
		}
		return
	case request.Code >= 200 && request.Code < 300:
		r.Evictions.Accepted++
	case request.Code == http.StatusTooManyRequests:
		r.Evictions.Refused++
	default:
		r.Evictions.Failed++
	}
	r.Evictions.Sent++
}

func isWatch(r auditlog.Request) bool {
	return r.Verb == "watch" || strings.Contains(r.URI, "watch=true")
}

// median returns the median of numbers; 0 of none.
func median(numbers []float64) float64 {
	if len(numbers) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(numbers))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
