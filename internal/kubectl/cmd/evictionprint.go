// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// evictionColumns are what a table of evictions has besides the usual.
type evictionColumns struct {
	// namespaces are told, wide tells of nodes, times and objects.
	namespaces, wide bool
}

// evictionTable is for people. Where the table would be wider than the terminal, what is
// said of a pod, who asks and who is next are below its line.
func evictionTable(rows []evictionRow, style ui.Style, now time.Time, columns evictionColumns) string {
	full := columns.rows(rows, now, true)
	if style.Fits(full) {
		return strings.Join(style.Table(full, 0), "\n") + "\n"
	}
	const responder = 2 // its column
	flexible := responder
	if columns.namespaces {
		flexible++
	}
	lines := style.Table(columns.rows(rows, now, false), flexible)
	var text strings.Builder
	fmt.Fprintln(&text, lines[0])
	for i := range rows {
		fmt.Fprintln(&text, lines[i+1])
		for _, line := range rows[i].below(style, now, columns.wide) {
			fmt.Fprintln(&text, style.Paint(ui.Faint, line))
		}
	}
	return text.String()
}

func (c evictionColumns) rows(all []evictionRow, now time.Time, texts bool) [][]ui.Cell {
	header := []string{"POD", "STATE", "RESPONDER", "SINCE", "HEARTBEAT"}
	if c.namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if texts {
		header = append(header, "NEXT", "ASKED BY")
		if c.wide {
			header = append(header, "DONE", "NODE", "EVICTION")
		}
		header = append(header, "MESSAGE")
	}
	table := [][]ui.Cell{cells(header, ui.Strong)}
	for i := range all {
		r := &all[i]
		active := r.active()
		fields := []string{r.Pod, r.State, orDash(active.Name), ago(active.Since, now), ago(active.Heartbeat, now)}
		state := 1
		if c.namespaces {
			fields, state = append([]string{r.Namespace}, fields...), state+1
		}
		if texts {
			fields = append(fields, orDash(r.next()), orDash(r.askedBy()))
			if c.wide {
				fields = append(fields, until(active.Expected, now), orDash(r.Node), orDash(r.Eviction))
			}
			fields = append(fields, orDash(r.says()))
		}
		row := cells(fields, ui.Plain)
		row[state].Tone = r.tone()
		table = append(table, row)
	}
	return table
}

// below are the lines below that of a pod.
func (r *evictionRow) below(style ui.Style, now time.Time, wide bool) []string {
	const most = 2
	var lines []string
	add := func(what, text string) {
		if text != "" {
			lines = append(lines, style.WrapAtMost("  ", what+text, most)...)
		}
	}
	add("", r.says())
	add("then ", r.next())
	add("asked for by ", r.askedBy())
	if wide {
		if at := r.active().Expected; at != nil {
			add("thinks to be done ", until(at, now))
		}
		add("on node ", r.Node)
		add("Eviction ", r.Eviction)
	}
	return lines
}

// line is how it stands, where nothing can be redrawn.
func (r *evictionRow) line(now time.Time) string {
	text := r.State
	if active := r.active(); active.Name != "" {
		text = active.Name + " is active"
		if active.Since != nil {
			text += " since " + clockTime(active.Since)
		}
		if active.Heartbeat != nil {
			text += ", heard of at " + clockTime(active.Heartbeat)
		}
		if next := r.next(); next != "" {
			text += ", then " + next
		}
	}
	if says := r.says(); says != "" {
		text += ": " + says
	}
	return ui.Clean(fmt.Sprintf("%s  %s/%s  %s", now.UTC().Format(time.TimeOnly), r.Namespace, r.Pod, text)) + "\n"
}

func clockTime(at *metav1.Time) string { return at.UTC().Format(time.TimeOnly) }

func (r *evictionRow) active() activeResponder {
	if r.Responder == nil || r.over() {
		return activeResponder{}
	}
	return *r.Responder
}

// says is what the responder says, or how it has ended.
func (r *evictionRow) says() string {
	if r.over() {
		return cmp.Or(r.Message, r.Reason)
	}
	return r.active().Message
}

func (r *evictionRow) next() string {
	if r.over() {
		return ""
	}
	return strings.Join(r.Next, ", ")
}

func (r *evictionRow) askedBy() string {
	var all []string
	for _, one := range r.Requesters {
		text := one.Name
		if one.Intent == evictionv1alpha1.RequesterIntentWithdrawn {
			text += " (withdrawn)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func (r *evictionRow) tone() ui.Tone {
	switch r.State {
	case evictionDone:
		return ui.Good
	case evictionFailed:
		return ui.Bad
	case evictionCanceled:
		return ui.Warn
	default:
		return ui.Plain
	}
}
