// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// evictionTable is for people.
func evictionTable(rows []evictionRow, style ui.Style, now time.Time, namespaces, wide bool) string {
	type row = evictionRow
	var columns []cli.Column[row]
	if namespaces {
		columns = append(columns, cli.Text("NAMESPACE", func(r *row) string { return r.Namespace }))
	}
	columns = append(columns,
		cli.Text("POD", func(r *row) string { return r.Pod }),
		cli.Toned("STATE", func(r *row) (string, ui.Tone) { return r.State, r.tone() }),
		cli.Text("RESPONDER", func(r *row) string { return r.active().Name }).Short(),
		cli.Text("SINCE", func(r *row) string { return cli.Ago(r.active().Since, now) }),
		cli.Text("HEARTBEAT", func(r *row) string { return cli.Ago(r.active().Heartbeat, now) }),
		cli.Text("NEXT", (*row).next).Under(),
		cli.Text("REQUESTED BY", (*row).askedBy).Under())
	if wide {
		columns = append(columns,
			cli.Text("DONE", func(r *row) string { return cli.Until(r.active().Expected, now) }).Under(),
			cli.Text("NODE", func(r *row) string { return r.Node }).Under(),
			cli.Text("EVICTION", func(r *row) string { return r.Eviction }).Under())
	}
	columns = append(columns, cli.Text("MESSAGE", (*row).says).Under())
	return cli.Table(style, rows, columns, func(r *row) []string { return r.below(now, wide) })
}

// below returns the texts below the line of a pod.
func (r *evictionRow) below(now time.Time, wide bool) (texts []string) {
	add := func(what, text string) {
		if text != "" {
			texts = append(texts, what+text)
		}
	}
	add("", r.says())
	add("then ", r.next())
	add("requested by ", r.askedBy())
	if wide {
		if at := r.active().Expected; at != nil {
			add("expects to be done ", cli.Until(at, now))
		}
		add("on node ", r.Node)
		add("Eviction ", r.Eviction)
	}
	return texts
}

// line is the state of an eviction where nothing can be redrawn.
func (r *evictionRow) line(now time.Time) string {
	text := r.State
	if active := r.active(); active.Name != "" {
		text = active.Name + " is active"
		if active.Since != nil {
			text += " since " + clockTime(active.Since)
		}
		if active.Heartbeat != nil {
			text += ", last heartbeat at " + clockTime(active.Heartbeat)
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

// says is the message of the responder, or of the end.
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
