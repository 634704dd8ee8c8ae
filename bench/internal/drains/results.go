// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/bench/internal/report"
)

// Results has the measurements of a benchmark.
type Results struct {
	Seed uint64 `json:"seed"`
	// Scenarios were run, in this order; Contenders as well.
	Scenarios  []Measured `json:"scenarios"`
	Contenders []string   `json:"contenders"`
	Runs       []Run      `json:"runs"`
}

// Measured is a scenario that was measured.
type Measured struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	// Blocked is the number of seconds for which a drain that cannot end was watched. Zero: it can end.
	Blocked float64 `json:"blocked,omitempty"`
	// Fleet is the greatest number of nodes out of service at a time, where all were drained and returned.
	Fleet int `json:"fleet,omitempty"`
	// Repeat is the number of drains of each contender.
	Repeat int `json:"repeat"`
	// Conditions were measured when the scenario began. Scenarios can begin on different days.
	Conditions report.Conditions `json:"conditions"`
}

// conditions returns those that all scenarios have in common.
func (r Results) conditions() (c report.Conditions) {
	if len(r.Scenarios) > 0 {
		c = r.Scenarios[0].Conditions
	}
	c.Date, c.Slipway, c.Load = "", "", ""
	return c
}

// describe returns the results before the first run.
func (o Options) describe(ctx context.Context) Results {
	r := Results{Seed: o.Seed, Contenders: o.Contenders}
	for _, s := range o.Scenarios {
		r.Scenarios = append(r.Scenarios, Measured{s.Key, s.Title, s.Blocked.Seconds(), s.Fleet, o.Repeat, report.Now(ctx)})
	}
	return r
}

// readEarlier returns the results in a file, if there is one.
func readEarlier(path string) (Results, error) {
	if path == "" {
		return Results{}, nil
	}
	earlier, err := report.Read[Results](path)
	if errors.Is(err, fs.ErrNotExist) {
		return Results{}, nil
	}
	return earlier, err
}

// With adds later results. These replace the earlier ones of their scenarios; the others stay. It
// fails if some stay that were measured under other conditions.
func (r Results) With(later Results) (Results, error) {
	replaced := func(key string) bool {
		return slices.ContainsFunc(later.Scenarios, func(s Measured) bool { return s.Key == key })
	}
	r.Scenarios = slices.DeleteFunc(slices.Clone(r.Scenarios), func(s Measured) bool { return replaced(s.Key) })
	r.Runs = slices.DeleteFunc(slices.Clone(r.Runs), func(run Run) bool { return replaced(run.Scenario) })
	if len(r.Scenarios) == 0 {
		return later, nil
	}
	if was, is := r.conditions(), later.conditions(); r.Seed != later.Seed || was != is {
		return Results{}, fmt.Errorf("scenarios %s were measured under other conditions (seed %d, %+v; now seed %d, %+v)",
			keysOf(r.Scenarios), r.Seed, was, later.Seed, is)
	}
	later.Scenarios = slices.SortedFunc(slices.Values(slices.Concat(r.Scenarios, later.Scenarios)),
		func(a, b Measured) int { return cmp.Compare(a.Key, b.Key) })
	later.Runs = slices.Concat(r.Runs, later.Runs)
	all := slices.Concat(r.Contenders, later.Contenders)
	later.Contenders = slices.DeleteFunc(Contenders(), func(c string) bool { return !slices.Contains(all, c) })
	return later, nil
}

// keysOf lists scenarios as in "(a), (b)".
func keysOf(scenarios []Measured) string {
	keys := make([]string, len(scenarios))
	for i, s := range scenarios {
		keys[i] = "(" + s.Key + ")"
	}
	return strings.Join(keys, ", ")
}

// medians describes the medians, as in "Medians of 5; (i), (k): of 2".
func (r Results) medians() string {
	text := "Medians"
	var seen []int
	for _, s := range r.Scenarios {
		n := s.Repeat
		switch {
		case slices.Contains(seen, n):
			continue
		case len(seen) == 0:
			text += fmt.Sprintf(" of %d", n)
		default:
			of := slices.DeleteFunc(slices.Clone(r.Scenarios), func(s Measured) bool { return s.Repeat != n })
			text += fmt.Sprintf("; %s: of %d", keysOf(of), n)
		}
		seen = append(seen, n)
	}
	return text
}

// Violations returns the invariants that Slipway violated, in all runs.
func (r Results) Violations() (all []string) {
	for _, run := range r.Runs {
		for _, what := range run.Broken {
			all = append(all, fmt.Sprintf("%s by %s, repetition %d: %s", run.Scenario, run.Contender, run.Repetition, what))
		}
	}
	return all
}

// summary sums up all runs of a contender in a scenario: medians, and the least and the greatest of the times.
type summary struct {
	contender            string
	wall, min, max       float64 // seconds
	sent, refused        float64
	total, others, later float64
	busy                 float64
	// bound is the time as a multiple of Run's Bound, and fasterThanKubectl and ofIdeal compare
	// with the other contenders. 0: there is nothing to compare with.
	bound, fasterThanKubectl, ofIdeal float64
	// cpu is CPU seconds by component of the control plane; controlPlane is their sum.
	cpu          map[string]float64
	controlPlane float64
}

// of sums up a scenario by contender.
func (r Results) of(scenario string) map[string]summary {
	summaries := map[string]summary{}
	for _, contender := range r.Contenders {
		runs := slices.DeleteFunc(slices.Clone(r.Runs), func(run Run) bool {
			return run.Scenario != scenario || run.Contender != contender
		})
		if len(runs) > 0 {
			summaries[contender] = summarize(contender, runs)
		}
	}
	for name, s := range summaries {
		if s.wall > 0 {
			s.fasterThanKubectl = summaries[Kubectl].wall / s.wall
		}
		if ideal := summaries[Ideal].wall; ideal > 0 {
			s.ofIdeal = s.wall / ideal
		}
		summaries[name] = s
	}
	return summaries
}

func summarize(contender string, runs []Run) summary {
	numbers := func(of func(Run) float64) (all []float64) {
		for _, run := range runs {
			all = append(all, of(run))
		}
		return all
	}
	count := func(of func(Run) int) float64 {
		return median(numbers(func(r Run) float64 { return float64(of(r)) }))
	}
	seconds := numbers(func(r Run) float64 { return r.Seconds })
	s := summary{
		contender: contender, wall: median(seconds), min: slices.Min(seconds), max: slices.Max(seconds),
		sent:    count(func(r Run) int { return r.Evictions.Sent }),
		refused: count(func(r Run) int { return r.Evictions.Refused }),
		total:   count(func(r Run) int { return r.Total }),
		others:  count(func(r Run) int { return r.Others }),
		later:   count(func(r Run) int { return r.Later }),
		busy:    median(numbers(func(r Run) float64 { return r.CPU.Busy })),
		cpu:     map[string]float64{},
	}
	if runs[0].Bound > 0 {
		s.bound = median(numbers(func(r Run) float64 { return r.Seconds / r.Bound }))
	}
	for component := range runs[0].CPU.Seconds {
		s.cpu[component] = median(numbers(func(r Run) float64 { return r.CPU.Seconds[component] }))
	}
	s.controlPlane = median(numbers(func(r Run) (sum float64) {
		for _, seconds := range r.CPU.Seconds {
			sum += seconds
		}
		return sum
	}))
	return s
}
