// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Markdown is for the README: a row for each scenario, and how it came about.
func Markdown(r Results) string {
	var b, blocked strings.Builder
	b.WriteString("| drained | kubectl drain | ideal | Slipway | as fast as kubectl | of ideal's time | evictions refused: kubectl, ideal, Slipway | idle budget: kubectl, Slipway |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, scenario := range r.Scenarios {
		by := map[string]Summary{}
		for _, s := range r.Of(scenario.Key) {
			by[s.Contender] = s
		}
		if scenario.Blocked > 0 {
			fmt.Fprintf(&blocked, "\n(%s) %s: %s.\n", scenario.Key, scenario.Title, asked(by))
			continue
		}
		cells := []string{
			fmt.Sprintf("(%s) %s", scenario.Key, scenario.Title), wall(by, kubectl), wall(by, ideal), wall(by, slipway),
			times(by[slipway].FasterThanKubectl), times(by[slipway].LongerThanIdeal),
			join(by, func(s Summary) string { return fmt.Sprintf("%s of %s", number(s.Refused), number(s.Sent)) }, kubectl, ideal, slipway),
			join(by, func(s Summary) string { return percent(s.Idle) }, kubectl, slipway),
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	b.WriteString(blocked.String())
	b.WriteString(bounds(r))
	b.WriteString(profile(r))
	c := r.Conditions
	fmt.Fprintf(&b, "\n%s (least–most), in seconds, on a local control plane (Kubernetes %s, %d cores, seed %d). `make bench` measures all of this anew.\n",
		r.medians(), c.Kubernetes, c.Cores, r.Seed)
	return b.String()
}

func wall(by map[string]Summary, contender string) string {
	s, ok := by[contender]
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.1f (%.1f–%.1f)", s.Wall, s.Min, s.Max)
}

func join(by map[string]Summary, show func(Summary) string, contenders ...string) string {
	var all []string
	for _, contender := range contenders {
		if s, ok := by[contender]; ok {
			all = append(all, show(s))
		} else {
			all = append(all, "–")
		}
	}
	return strings.Join(all, ", ")
}

// asked is what contenders did about a pod that could not go.
func asked(by map[string]Summary) string {
	var all []string
	for _, contender := range []string{kubectl, slipway} {
		if s, ok := by[contender]; ok {
			all = append(all, fmt.Sprintf("%s sent %s evictions and %s requests in all, %s of them after the first 5 s",
				display(contender), number(s.Sent), number(s.Total), number(s.Later)))
		}
	}
	return strings.Join(all, "; ")
}

// bound is what Slipway's time is a multiple of.
func bound(s Scenario) string {
	if s.Fleet > 0 {
		return "what the budgets need until each pod has left its node once"
	}
	return "one start-up and the longest termination"
}

// bounds says how near Slipway came to what it takes at least.
func bounds(r Results) string {
	var b strings.Builder
	for _, scenario := range r.Scenarios {
		for _, s := range r.Of(scenario.Key) {
			if s.Contender == slipway && s.LongerThanBound > 0 {
				fmt.Fprintf(&b, "\n(%s) Slipway took %.2f times %s", scenario.Key, s.LongerThanBound, bound(scenario))
				if work := s.ControlPlaneCPUSeconds / float64(max(r.Conditions.Cores, 1)); scenario.Fleet > 0 && work > 0 {
					fmt.Fprintf(&b, ", and %.2f times what the control plane's work for it takes if all %d cores do nothing else", s.Wall/work, r.Conditions.Cores)
				}
				if s.LongerThanIdeal > 0 {
					fmt.Fprintf(&b, ", and was %.1f times as fast as the ideal evictor", 1/s.LongerThanIdeal)
				}
				b.WriteString(".\n")
			}
		}
	}
	return b.String()
}

// profile says what the cores did while Slipway drained: where they were all busy with the control plane, no drain would
// have been faster.
func profile(r Results) string {
	var b strings.Builder
	b.WriteString("\n| while Slipway drained | cores busy | CPU seconds of the control plane | requests beyond watches, evictions, Events |\n|---|---|---|---|\n")
	for _, scenario := range r.Scenarios {
		for _, s := range r.Of(scenario.Key) {
			if s.Contender == slipway {
				fmt.Fprintf(&b, "| (%s) | %s | %s | %s |\n", scenario.Key, percent(s.Busy), components(s.ComponentCPUSeconds), number(s.Others))
			}
		}
	}
	return b.String()
}

// components lists those that worked most first.
func components(seconds map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(seconds), func(a, b string) int {
		return cmp.Or(cmp.Compare(seconds[b], seconds[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.1f", name, seconds[name])
	}
	return strings.Join(names, ", ")
}
