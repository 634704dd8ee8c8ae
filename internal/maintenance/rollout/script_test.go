// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts tells what is done in testdata. Each command changes the world; what is
// printed is who begins then, and why others do not.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		w := &world{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "rollout" {
				w = &world{}
				w.set(t, d)
				w.nodes(t, d.Input)
				return w.next()
			}
			w.command(t, d)
			return w.next()
		})
	})
}

func (w *world) command(t *testing.T, d *datadriven.TestData) {
	states := map[string]State{"wait": Waiting, "out": Out, "return": Returned, "fail": Failed, "failed-back": FailedBack, "hold-back": HeldBack}
	for _, arg := range d.CmdArgs {
		n := w.node(arg.Key)
		switch state, ok := states[d.Cmd]; {
		case d.Cmd == "set":
			w.set(t, d)
		case d.Cmd == "control-plane-out":
			w.facts.ControlPlaneOut = append(w.facts.ControlPlaneOut, arg.Key)
		case d.Cmd == "control-plane-back":
			w.facts.ControlPlaneOut = nil
		case n == nil:
			t.Fatalf("%s: no such node: %s", d.Pos, arg.Key)
		case d.Cmd == "down" || d.Cmd == "up":
			n.Down = d.Cmd == "down"
		case ok:
			n.State = state
		default:
			t.Fatalf("%s: no such command: %s", d.Pos, d.Cmd)
		}
	}
}

// nodes reads one a line: a name, and zone=a, control-plane, budget=shop/web as far as
// there is more to say.
func (w *world) nodes(t *testing.T, text string) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		n := Node{Name: words[0]}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "zone":
				n.Domain = value
			case "budget":
				n.Budgets = append(n.Budgets, value)
			case "control-plane":
				n.ControlPlane = true
			case "down":
				n.Down = true
			default:
				t.Fatalf("node %s: %s means nothing", n.Name, word)
			}
		}
		w.facts.Nodes = append(w.facts.Nodes, n)
	}
}
