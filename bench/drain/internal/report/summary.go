// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/slipway-k8s/slipway/bench/drain/internal/measure"
)

// The contenders that others are compared with.
const (
	kubectl = "kubectl"
	ideal   = "ideal"
	slipway = "slipway"
)

// Summary is what all runs of a contender in a scenario come to. Numbers are medians
// unless they say otherwise.
type Summary struct {
	Contender              string
	Runs                   int
	Wall, Min, Max         float64 // seconds
	Sent, Refused, Failed  float64
	Total, Others, Later   float64
	Verbs                  map[string]float64
	Idle, IdlePerBudget    float64
	Busy                   float64
	EvictionMillis         float64
	FasterThanKubectl      float64 // 0: not known
	LongerThanIdeal        float64 // 0: not known
	ControlPlaneCPUSeconds float64
	// LongerThanBound is the time as a multiple of measure.Run's Bound. 0: there is none.
	LongerThanBound float64
	// ComponentCPUSeconds are the same by component.
	ComponentCPUSeconds map[string]float64
}

// Of sums up a scenario, in the order of the contenders.
func (r Results) Of(scenario string) []Summary {
	var summaries []Summary
	wall := map[string]float64{}
	for _, contender := range r.Contenders {
		runs := slices.DeleteFunc(slices.Clone(r.Runs), func(run measure.Run) bool {
			return run.Scenario != scenario || run.Contender != contender
		})
		if len(runs) == 0 {
			continue
		}
		s := summarise(contender, runs)
		wall[contender] = s.Wall
		summaries = append(summaries, s)
	}
	for i := range summaries {
		s := &summaries[i]
		if s.Wall > 0 {
			s.FasterThanKubectl = wall[kubectl] / s.Wall
		}
		if wall[ideal] > 0 {
			s.LongerThanIdeal = s.Wall / wall[ideal]
		}
	}
	return summaries
}

func summarise(contender string, runs []measure.Run) Summary {
	median := func(of func(measure.Run) float64) float64 {
		var numbers []float64
		for _, run := range runs {
			numbers = append(numbers, of(run))
		}
		return measure.Median(numbers)
	}
	count := func(of func(measure.Run) int) float64 {
		return median(func(r measure.Run) float64 { return float64(of(r)) })
	}
	s := Summary{
		Contender: contender, Runs: len(runs),
		Wall:          median(func(r measure.Run) float64 { return r.Seconds }),
		Min:           runs[0].Seconds,
		Max:           runs[0].Seconds,
		Sent:          count(func(r measure.Run) int { return r.Evictions.Sent }),
		Refused:       count(func(r measure.Run) int { return r.Evictions.Refused }),
		Failed:        count(func(r measure.Run) int { return r.Evictions.Failed }),
		Total:         count(func(r measure.Run) int { return r.Total }),
		Others:        count(func(r measure.Run) int { return r.Others }),
		Later:         count(func(r measure.Run) int { return r.Later }),
		Idle:          median(func(r measure.Run) float64 { return r.Idle.All }),
		IdlePerBudget: median(func(r measure.Run) float64 { return r.Idle.PerBudget }),
		Busy:          median(func(r measure.Run) float64 { return r.CPU.Busy }),
		Verbs:         map[string]float64{},

		ComponentCPUSeconds: map[string]float64{},
	}
	if runs[0].Bound > 0 {
		s.LongerThanBound = median(func(r measure.Run) float64 { return r.Seconds / r.Bound })
	}
	for component := range runs[0].CPU.Seconds {
		s.ComponentCPUSeconds[component] = median(func(r measure.Run) float64 { return r.CPU.Seconds[component] })
	}
	s.ControlPlaneCPUSeconds = median(func(r measure.Run) float64 {
		var sum float64
		for _, seconds := range r.CPU.Seconds {
			sum += seconds
		}
		return sum
	})
	var latencies []float64
	for _, run := range runs {
		s.Min, s.Max = min(s.Min, run.Seconds), max(s.Max, run.Seconds)
		latencies = append(latencies, run.EvictionMillis...)
		for verb := range measure.ByVerb(run.Requests) {
			s.Verbs[verb] = count(func(r measure.Run) int { return measure.ByVerb(r.Requests)[verb] })
		}
	}
	s.EvictionMillis = measure.Median(latencies)
	return s
}
