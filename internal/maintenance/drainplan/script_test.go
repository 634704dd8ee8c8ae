// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"slices"
	"testing"

	"github.com/cockroachdb/datadriven"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// TestScripts tells what is done in testdata. Each command changes the world; what is
// printed is what each node then has and does, and how far each maintenance has come.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				w = newWorld()
				return ""
			}
			w.command(t, d)
			return w.show(w.step())
		})
	})
}

func (w *world) command(t *testing.T, d *datadriven.TestData) {
	name, nodes := "", arguments(d)
	if len(nodes) > 0 {
		name, nodes = nodes[0], nodes[1:]
	}
	switch d.Cmd {
	case "maintenance":
		plan := targets(t, d)
		if len(plan) == 0 {
			plan = Complete(nil)
		}
		w.begin(name, plan, nodes...)
	case "complete": // the maintenance: it is over
		delete(w.maintenances, name)
	case "join":
		for _, n := range nodes {
			w.join(name, n)
		}
	case "leave":
		for _, n := range nodes {
			w.leave(name, n)
		}
	case "drained": // nothing is left that the targets cover
		for _, n := range arguments(d) {
			w.nodes[n].Reached = true
		}
	case "pod": // one has come that the targets cover
		w.nodes[name].Reached = false
	case "cordoned": // it is there for no drain
		w.nodes[name] = &Node{Name: name, Targets: NoPods(), Reached: true}
	case "back":
		delete(w.nodes, name)
	case "look":
	default:
		t.Fatalf("%s: no such command: %s", d.Pos, d.Cmd)
	}
}

func arguments(d *datadriven.TestData) (all []string) {
	for _, a := range d.CmdArgs {
		all = append(all, a.Key)
	}
	return all
}

func targets(t *testing.T, d *datadriven.TestData) []slipwayv1alpha1.DrainTarget {
	all, err := read(d.Input)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return slices.Clip(all)
}

// TestPlans tells what becomes of the entries of a plan.
func TestPlans(t *testing.T) {
	datadriven.RunTest(t, "testdata/plans.txt", func(t *testing.T, d *datadriven.TestData) string {
		entries := targets(t, d)
		out := ""
		switch d.Cmd {
		case "complete":
			for _, e := range Complete(entries) {
				out += show(e) + "\n"
			}
		case "steps": // the targets after each
			steps := inOrder(entriesOf(entries))
			for _, e := range steps {
				out += showAll(targetsOf(upTo(steps, e.level()))) + "\n"
			}
		default:
			t.Fatalf("%s: no such command: %s", d.Pos, d.Cmd)
		}
		return out
	})
}
