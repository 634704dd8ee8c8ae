// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table is for a terminal.
func Table(r Results) string {
	var b strings.Builder
	for _, scenario := range r.Scenarios {
		summaries := r.Of(scenario.Key)
		if len(summaries) == 0 {
			continue
		}
		fmt.Fprintf(&b, "(%s) %s\n", scenario.Key, scenario.Title)
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		if scenario.Blocked > 0 {
			blockedRows(w, summaries)
		} else {
			rows(w, summaries)
		}
		_ = w.Flush() // into memory
		fmt.Fprintln(&b)
	}
	if text := bounds(r); text != "" {
		b.WriteString(strings.TrimPrefix(text, "\n") + "\n")
	}
	b.WriteString(wrap(Notes(r), 110))
	return b.String()
}

func rows(w *tabwriter.Writer, summaries []Summary) {
	fmt.Fprintln(w, "\twall\tmin–max\tas fast as kubectl\tof ideal's time\tevictions\trefused\tidle\tidle per budget\trequests\tothers\tCPU busy\tcontrol plane\teviction takes\t")
	for _, s := range summaries {
		fmt.Fprintf(w, "%s\t%.1f s\t%.1f–%.1f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f CPU s\t%.0f ms\t\n",
			s.Contender, s.Wall, s.Min, s.Max, times(s.FasterThanKubectl), times(s.LongerThanIdeal),
			number(s.Sent), refusals(s), percent(s.Idle), percent(s.IdlePerBudget),
			number(s.Total), number(s.Others), percent(s.Busy), s.ControlPlaneCPUSeconds, s.EvictionMillis)
	}
	verbRows(w, summaries)
}

func blockedRows(w *tabwriter.Writer, summaries []Summary) {
	fmt.Fprintln(w, "\tevictions\trefused\trequests\tothers\tlater than 5 s\t")
	for _, s := range summaries {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", s.Contender, number(s.Sent), refusals(s), number(s.Total), number(s.Others), number(s.Later))
	}
	verbRows(w, summaries)
}

func verbRows(w *tabwriter.Writer, summaries []Summary) {
	_ = w.Flush() // into memory
	for _, s := range summaries {
		var verbs []string
		for _, verb := range slices.Sorted(maps.Keys(s.Verbs)) {
			verbs = append(verbs, fmt.Sprintf("%s %s", verb, number(s.Verbs[verb])))
		}
		fmt.Fprintf(w, "%s's requests:\t%s\n", s.Contender, strings.Join(verbs, ", "))
	}
}

// refusals by a budget, and with a plus what failed otherwise.
func refusals(s Summary) string {
	if s.Failed > 0 {
		return fmt.Sprintf("%s + %s failed", number(s.Refused), number(s.Failed))
	}
	return number(s.Refused)
}

func times(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ×", ratio)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// number is a median of counts: a half only where there is one.
func number(n float64) string {
	if n == float64(int(n)) {
		return fmt.Sprintf("%d", int(n))
	}
	return fmt.Sprintf("%.1f", n)
}

// wrap breaks lines between words.
func wrap(lines []string, width int) string {
	var b strings.Builder
	for _, line := range lines {
		length := 0
		for i, word := range strings.Fields(line) {
			n := len([]rune(word))
			switch {
			case i == 0:
			case length+1+n > width:
				b.WriteString("\n  ")
				length = 2
			default:
				b.WriteByte(' ')
				length++
			}
			b.WriteString(word)
			length += n
		}
		b.WriteByte('\n')
	}
	return b.String()
}
