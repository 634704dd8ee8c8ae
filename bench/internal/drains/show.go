// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/bench/internal/report"
)

// Markdown is for the README: a row for each scenario, and the conditions.
func (r Results) Markdown() string {
	table := report.NewTable("drained", "kubectl drain", "ideal", "Slipway", "as fast as kubectl", "of ideal's time",
		"evictions refused: kubectl, ideal, Slipway")
	profile := report.NewTable("while Slipway drained", "cores busy", "CPU seconds of the control plane", "requests beyond watches, evictions, Events")
	var blocked, bounds strings.Builder
	for _, scenario := range r.Scenarios {
		by := r.of(scenario.Key)
		slipway, measured := by[Slipway]
		if measured {
			profile.Row("("+scenario.Key+")", percent(slipway.busy), components(slipway.cpu), number(slipway.others))
			bounds.WriteString(r.bounds(scenario, slipway))
		}
		if scenario.Blocked > 0 {
			fmt.Fprintf(&blocked, "\n(%s) %s: %s.\n", scenario.Key, scenario.Title,
				join(by, "; ", func(s summary) string {
					return fmt.Sprintf("%s sent %s evictions and %s requests in all, %s of them after the first 5 s",
						display(s.contender), number(s.sent), number(s.total), number(s.later))
				}, Kubectl, Slipway))
			continue
		}
		wall := func(s summary) string { return fmt.Sprintf("%.1f (%.1f–%.1f)", s.wall, s.min, s.max) }
		table.Row(
			fmt.Sprintf("(%s) %s", scenario.Key, scenario.Title),
			join(by, "", wall, Kubectl), join(by, "", wall, Ideal), join(by, "", wall, Slipway),
			times(slipway.fasterThanKubectl), times(slipway.ofIdeal),
			join(by, ", ", func(s summary) string { return fmt.Sprintf("%s of %s", number(s.refused), number(s.sent)) }, Contenders()...),
		)
	}
	return fmt.Sprintf("%s%s%s\n%s\n%s (least–most), in seconds, on a local control plane (Kubernetes %s, %d cores, seed %d). `make bench` measures all of this again.\n",
		table, &blocked, &bounds, profile, r.medians(), r.conditions().Kubernetes, r.conditions().Cores, r.Seed)
}

// bounds compares Slipway's time with the least time that a scenario can take.
func (r Results) bounds(scenario Measured, s summary) string {
	if s.bound == 0 {
		return ""
	}
	bound := "one start-up and the longest termination"
	if scenario.Fleet > 0 {
		bound = "what the budgets need until each pod has left its node once"
	}
	text := fmt.Sprintf("\n(%s) Slipway took %.2f times %s", scenario.Key, s.bound, bound)
	if work := s.controlPlane / float64(max(r.conditions().Cores, 1)); scenario.Fleet > 0 && work > 0 {
		text += fmt.Sprintf(", and %.2f times what the control plane's work for it takes if all %d cores only do that", s.wall/work, r.conditions().Cores)
	}
	if s.ofIdeal > 0 {
		text += fmt.Sprintf(", and was %.1f times as fast as the ideal evictor", 1/s.ofIdeal)
	}
	return text + ".\n"
}

// Chart draws the wall times of the drains that can end: a bar for the median, a line from the
// least to the greatest. Each scenario has its own scale: a fleet takes minutes, a node seconds.
func (r Results) Chart() string {
	var groups []report.BarGroup
	for _, scenario := range r.Scenarios {
		by := r.of(scenario.Key)
		if scenario.Blocked > 0 || len(by) == 0 {
			continue
		}
		group := report.BarGroup{Title: fmt.Sprintf("(%s) %s", scenario.Key, scenario.Title)}
		for i, contender := range Contenders() {
			s, measured := by[contender]
			if !measured {
				continue
			}
			label := fmt.Sprintf("%.1f s", s.wall)
			if contender == Slipway && s.fasterThanKubectl > 0 {
				label += fmt.Sprintf(", %.1f × as fast", s.fasterThanKubectl)
			}
			group.Bars = append(group.Bars, report.Bar{Name: display(contender), Value: s.wall, Min: s.min, Max: s.max, Label: label, Color: i})
		}
		groups = append(groups, group)
	}
	return report.Bars(fmt.Sprintf("Seconds until the nodes are drained: less is better. %s; lines from least to most; a scale for each. Kubernetes %s on %d cores, nodes simulated.",
		r.medians(), r.conditions().Kubernetes, r.conditions().Cores), groups)
}

// join shows contenders, with a dash for those that were not measured.
func join(by map[string]summary, separator string, show func(summary) string, contenders ...string) string {
	var all []string
	for _, contender := range contenders {
		text := "–"
		if s, ok := by[contender]; ok {
			text = show(s)
		}
		all = append(all, text)
	}
	return strings.Join(all, separator)
}

// display returns the displayed name of a contender.
func display(contender string) string {
	names := map[string]string{Kubectl: "kubectl drain", Slipway: "Slipway"}
	return cmp.Or(names[contender], contender)
}

// components lists components, those with most CPU seconds first.
func components(seconds map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(seconds), func(a, b string) int {
		return cmp.Or(cmp.Compare(seconds[b], seconds[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.1f", name, seconds[name])
	}
	return strings.Join(names, ", ")
}

func times(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ×", ratio)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// number formats a median of counts: with a half only where there is one.
func number(n float64) string {
	if n == float64(int(n)) {
		return fmt.Sprintf("%d", int(n))
	}
	return fmt.Sprintf("%.1f", n)
}
