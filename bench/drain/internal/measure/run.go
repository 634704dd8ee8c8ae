// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/drain/internal/idle"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Run is one drain by one contender, in numbers.
type Run struct {
	Scenario   string `json:"scenario"`
	Contender  string `json:"contender"`
	Repetition int    `json:"repetition"`
	// Seconds is the wall time.
	Seconds float64 `json:"seconds"`
	// Bound is what it takes at least, in seconds: where all replacements are started at once,
	// one start-up and the longest termination; for a fleet, what its budgets say. Zero
	// elsewhere.
	Bound     float64   `json:"bound,omitempty"`
	Evictions Evictions `json:"evictions"`
	// Requests are all of the drainer's, by verb and resource.
	Requests map[string]int `json:"requests"`
	// Total is their sum; Others are those that are no watches, evictions or core
	// Events; Later are those that came after the first [Settling] of the drain.
	Total  int `json:"total"`
	Others int `json:"others"`
	Later  int `json:"later"`
	// Idle is the time in which an eviction was possible and not under way.
	Idle idle.Shares `json:"idle"`
	// EvictionMillis is how long the API server worked on each accepted eviction.
	EvictionMillis []float64 `json:"evictionMillis"`
	CPU            CPU       `json:"cpu"`
	// Broken are promises that the audit log shows to be broken. Only ours are checked.
	Broken []string `json:"broken,omitempty"`
}

// Settling is how long a drain that cannot end may take to find that out.
const Settling = 5 * time.Second

// Evictions are counted by how they were answered.
type Evictions struct {
	Sent     int `json:"sent"`
	Accepted int `json:"accepted"`
	// Refused are those that a budget refused, or the API server's own limits (429).
	Refused int `json:"refused"`
	// Failed are all others, such as those of pods that had gone.
	Failed int `json:"failed"`
}

// CPU is what the drain has cost the machine.
type CPU struct {
	// Busy is the share of all cores that were in use, by whatever.
	Busy float64 `json:"busy"`
	// Seconds are those of each component of the control plane.
	Seconds map[string]float64 `json:"seconds"`
}

// Drain says which requests are of the drain.
type Drain struct {
	// Ours says whether a request is the drainer's.
	Ours func(auditlog.Request) bool
	// Began and Ended bound the drain; Over is when the drainer had cleaned up, too.
	Began, Ended, Over time.Time
	// Namespace is the workload's.
	Namespace string
	// Pods are those in scope, each with its budget.
	Pods map[string]string
}

// Of counts.
func Of(requests []auditlog.Request, d Drain) Run {
	r := Run{Seconds: d.Ended.Sub(d.Began).Seconds(), Requests: map[string]int{}}
	happened := idle.Drain{Began: d.Began, Ended: d.Ended, Pods: d.Pods, Budgets: versions(requests, d.Namespace)}
	for _, request := range requests {
		if !d.Ours(request) || request.Began.Before(d.Began) || request.Began.After(d.Over) {
			continue
		}
		r.count(request)
		if request.Began.After(d.Began.Add(Settling)) {
			r.Later++
		}
		if isEviction(request) {
			r.Evictions.count(request.Code)
			accepted := isAccepted(request.Code)
			if accepted {
				r.EvictionMillis = append(r.EvictionMillis, 1000*request.Ended.Sub(request.Began).Seconds())
			}
			happened.Evictions = append(happened.Evictions,
				idle.Eviction{Pod: request.Name, Began: request.Began, Ended: request.Ended, Accepted: accepted})
		}
	}
	r.Idle = idle.Of(happened)
	return r
}

func (r *Run) count(request auditlog.Request) {
	verb := request.Verb
	if strings.Contains(request.URI, "watch=true") {
		verb = "watch"
	}
	what, _, _ := strings.Cut(request.What(), " ")
	if what == "" {
		what, _, _ = strings.Cut(request.URI, "?")
	}
	r.Requests[verb+" "+what]++
	r.Total++
	if verb != "watch" && !isEviction(request) && request.Resource != "events" {
		r.Others++
	}
}

func (e *Evictions) count(code int) {
	const tooMany = 429
	e.Sent++
	switch {
	case isAccepted(code):
		e.Accepted++
	case code == tooMany:
		e.Refused++
	default:
		e.Failed++
	}
}

func isAccepted(code int) bool { return code >= 200 && code < 300 }

func isEviction(r auditlog.Request) bool {
	return r.Resource == "pods" && r.Subresource == "eviction" && r.Verb == "create"
}

// ByVerb adds up requests by their verb.
func ByVerb(requests map[string]int) map[string]int {
	verbs := map[string]int{}
	for what, n := range requests {
		verb, _, _ := strings.Cut(what, " ")
		verbs[verb] += n
	}
	return verbs
}

// Median of the numbers; 0 of none.
func Median(numbers []float64) float64 {
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
