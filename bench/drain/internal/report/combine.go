// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/slipway-k8s/slipway/bench/drain/internal/measure"
)

// With adds later results: those of its scenarios take the place of earlier ones, the
// others stay. It fails if any stay that were measured under other conditions.
func (r Results) With(later Results) (Results, error) {
	replaced := func(key string) bool {
		return slices.ContainsFunc(later.Scenarios, func(s Scenario) bool { return s.Key == key })
	}
	r.Scenarios = slices.DeleteFunc(slices.Clone(r.Scenarios), func(s Scenario) bool { return replaced(s.Key) })
	r.Runs = slices.DeleteFunc(slices.Clone(r.Runs), func(run measure.Run) bool { return replaced(run.Scenario) })
	if len(r.Scenarios) == 0 {
		return later, nil
	}
	if r.Seed != later.Seed || !reflect.DeepEqual(r.Conditions, later.Conditions) {
		return Results{}, fmt.Errorf("scenarios %s were measured under other conditions (seed %d, %+v; now seed %d, %+v)",
			keys(r.Scenarios), r.Seed, r.Conditions, later.Seed, later.Conditions)
	}
	later.Scenarios = slices.SortedFunc(slices.Values(slices.Concat(r.Scenarios, later.Scenarios)),
		func(a, b Scenario) int { return cmp.Compare(a.Key, b.Key) })
	later.Runs = slices.Concat(r.Runs, later.Runs)
	all := slices.Concat(r.Contenders, later.Contenders)
	later.Contenders = slices.DeleteFunc([]string{kubectl, ideal, slipway}, func(c string) bool { return !slices.Contains(all, c) })
	return later, nil
}

// occasions are those on which the scenarios were measured, in their order.
func (r Results) occasions() []Occasion {
	var all []Occasion
	for _, s := range r.Scenarios {
		if !slices.Contains(all, s.Occasion) {
			all = append(all, s.Occasion)
		}
	}
	return all
}

// on are the scenarios that were measured on an occasion.
func (r Results) on(o Occasion) []Scenario {
	return slices.DeleteFunc(slices.Clone(r.Scenarios), func(s Scenario) bool { return s.Occasion != o })
}

// keys lists scenarios as in "(a), (b)".
func keys(of []Scenario) string {
	text := ""
	for i, s := range of {
		if i > 0 {
			text += ", "
		}
		text += "(" + s.Key + ")"
	}
	return text
}

// medians says of how many drains the medians are, as in "Medians of 5; (i), (k): of 2".
func (r Results) medians() string {
	text := "Medians"
	var said []int
	for _, s := range r.Scenarios {
		n := s.Occasion.Repeat
		if slices.Contains(said, n) {
			continue
		}
		said = append(said, n)
		if len(said) == 1 {
			text += fmt.Sprintf(" of %d", n)
			continue
		}
		of := slices.DeleteFunc(slices.Clone(r.Scenarios), func(s Scenario) bool { return s.Occasion.Repeat != n })
		text += fmt.Sprintf("; %s: of %d", keys(of), n)
	}
	return text
}
