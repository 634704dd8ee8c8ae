// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// news are what is otherwise than before: a line, or an object, for each.
func (w *maintenanceWatch) news(rows []maintenanceRow, now time.Time) string {
	var text strings.Builder
	current := map[string]maintenanceRow{}
	for _, r := range rows {
		nodes := r.phases()
		r.Domains = nil // for programs, there would be too much of it
		r.of = nil
		current[r.Name] = r
		before, known := w.shown[r.Name]
		if !known || !reflect.DeepEqual(w.told(before), w.told(r)) {
			text.WriteString(w.entry(r, now))
		}
		if w.only != "" && w.format != jsonText {
			text.WriteString(w.nodeNews(r.Name, nodes, now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.shown)) {
		if _, still := current[name]; !still {
			text.WriteString(w.entry(maintenanceRow{Name: name, UID: w.shown[name].UID, State: "gone"}, now))
		}
	}
	w.shown = current
	return text.String()
}

// told is of a row what a change of is told: for people, not the nodes, which have lines of
// their own.
func (w *maintenanceWatch) told(r maintenanceRow) maintenanceRow {
	if w.format == jsonText {
		return r
	}
	return maintenanceRow{Stage: r.Stage, State: r.State, Message: r.Message, Nodes: r.Nodes}
}

// maintenanceChange is how a maintenance is after a change, for programs.
type maintenanceChange struct {
	Time metav1.MicroTime `json:"time"`
	maintenanceRow
}

func (w *maintenanceWatch) entry(r maintenanceRow, now time.Time) string {
	if w.format != jsonText {
		return maintenanceLine(r, now)
	}
	text, err := json.Marshal(maintenanceChange{metav1.NewMicroTime(now), r})
	if err != nil {
		return ""
	}
	return string(text) + "\n"
}

// maintenanceLine is one maintenance, where nothing can be redrawn.
func maintenanceLine(r maintenanceRow, now time.Time) string {
	parts := []string{now.UTC().Format(time.TimeOnly), r.Name, r.State}
	if r.Nodes.Selected > 0 {
		parts = append(parts, r.counted())
	}
	if says := r.says(); says != "" {
		parts = append(parts, says)
	}
	return ui.Clean(strings.Join(parts, "  ")) + "\n"
}

// nodeNews are the nodes that are otherwise than before. What has not begun is not told.
func (w *maintenanceWatch) nodeNews(name string, nodes map[string]string, now time.Time) string {
	var text strings.Builder
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		before, known := w.phases[node]
		if nodes[node] == before || !known && nodes[node] == markOf(slipwayv1alpha1.NodeWaiting).word {
			continue
		}
		text.WriteString(ui.Clean(strings.Join([]string{now.UTC().Format(time.TimeOnly), name, node, nodes[node]}, "  ")) + "\n")
	}
	w.phases = nodes
	return text.String()
}

// phases are where the nodes are, in words, by their names.
func (r *maintenanceRow) phases() map[string]string {
	all := map[string]string{}
	for _, d := range r.Domains {
		for _, n := range d.Nodes {
			all[n.Name] = markOf(n.Phase).word
		}
	}
	for _, n := range r.NodeStatuses {
		all[n.Name] = markOf(n.Phase).word
		if n.Reason != "" {
			all[n.Name] += ": " + whyOf(n)
		}
	}
	return all
}
