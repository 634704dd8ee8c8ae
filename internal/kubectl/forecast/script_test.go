// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/node/availability"
)

// TestScripts tells what is done in testdata. A cluster is nodes and budgets, a line each;
// maintain prints what a maintenance of its nodes would do.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "cluster":
				w = newWorld()
				w.build(t, d.Input)
				return ""
			case "maintain":
				m := w.maintenance()
				set(t, m, d.CmdArgs)
				w.facts.Maintenances.Maintenances = nil
				w.facts.Maintenances.Maintenances = append(w.facts.Maintenances.Maintenances, m)
				f, err := Predict(w.facts)
				if err != nil {
					return "error: " + err.Error()
				}
				return textOf(f)
			default:
				t.Fatalf("%s: no such command: %s", d.Pos, d.Cmd)
				return ""
			}
		})
	})
}

// build reads "node w1 zone=a", "budget web 1 of 3", "availability 2", "pending 4" and "no-pods".
func (w *world) build(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch words[0] {
		case "node":
			if err := w.node(words[1], words[2:]...); err != nil {
				t.Fatal(err)
			}
		case "availability":
			b := &availability.Budget{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
			b.Spec.MaxUnavailable = new(intstr.Parse(words[1]))
			w.facts.Maintenances.Availability = []*availability.Budget{b}
		case "budget":
			var app string
			var allowed, healthy int32
			if _, err := fmt.Sscanf(line, "budget %s %d of %d", &app, &allowed, &healthy); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			w.budget(app, allowed, healthy)
		case "pending":
			for range 20 {
				w.facts.Maintenances.NotReady = append(w.facts.Maintenances.NotReady, maintenance.NotReadyPod{Created: noon})
			}
		case "no-pods":
			w.facts.Cluster.Pods = nil
		default:
			t.Fatalf("%s means nothing", line)
		}
	}
}

// textOf is a forecast in the words that people read.
func textOf(f Forecast) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("%s", f.Headline())
	for _, c := range f.Conditions {
		line("it begins when %s", c)
	}
	for _, row := range f.Rows(false) {
		if row.Condition != "" {
			line("then: %s", row.Condition)
		}
		number := fmt.Sprint(row.From)
		if row.To != row.From {
			number += fmt.Sprintf("-%d", row.To)
		}
		text := fmt.Sprintf("%s: %s", number, Names(row.Names, false))
		if f.TopologyKey != "" {
			text += fmt.Sprintf(" of %s", strings.Join(row.Domains, ", "))
		}
		if row.Known {
			text += fmt.Sprintf(", %d pods", row.Leave)
		}
		if row.Blocked > 0 {
			text += fmt.Sprintf(", %d blocked", row.Blocked)
		}
		line("%s", text)
	}
	for _, of := range []struct {
		title   string
		remarks plan.Remarks
	}{
		{"blocked", f.Blocked()}, {"never", f.Never()}, {"nowhere", f.Nowhere()}, {"note", f.NodeNotes()}, {"not begun", f.NotBegun()},
	} {
		for _, r := range of.remarks {
			line("%s: %s: %s", of.title, strings.TrimSpace(Names(r.Nodes, false)+" "+strings.Join(r.Pods, ", ")), r.Text)
		}
	}
	line("blocks: %t", f.Blocks())
	return out.String()
}
