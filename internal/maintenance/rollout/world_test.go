// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// world is a cluster in which nodes that begin are out at once.
type world struct{ facts Facts }

func (w *world) node(name string) *Node {
	for i := range w.facts.Nodes {
		if w.facts.Nodes[i].Name == name {
			return &w.facts.Nodes[i]
		}
	}
	return nil
}

// next has those begin that may, and says who.
func (w *world) next() string {
	d := Next(w.facts)
	out := ""
	for _, name := range d.Begin {
		w.node(name).State = Out
	}
	if len(d.Begin) > 0 {
		out = "begin " + strings.Join(d.Begin, ", ") + "\n"
	}
	if d.Reason != "" {
		out += fmt.Sprintf("%s: %s\n", d.Reason, d.Message)
	}
	if out == "" {
		return "none waits\n"
	}
	return out
}

func (w *world) set(t *testing.T, d *datadriven.TestData) {
	r := &w.facts.Rollout
	for _, arg := range d.CmdArgs {
		value := ""
		if len(arg.Vals) > 0 {
			value = arg.Vals[0]
		}
		number := func() *int32 {
			if value == "" {
				return nil
			}
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			return new(int32(n))
		}
		switch arg.Key {
		case "max-unavailable":
			r.MaxUnavailable = new(intstr.Parse(value))
		case "topology-key":
			r.TopologyKey = value
		case "per-domain":
			r.PerDomain = number()
		case "batches":
			r.Batches = value != "false"
		case "pause-after":
			r.PauseAfter = number()
		case "failure-threshold":
			r.FailureThreshold = number()
		case "max-pending-pods":
			r.MaxPendingPods = number()
		case "pending-pods":
			w.facts.PendingPods = int(*number())
		case "pending-names":
			w.facts.PendingNames = arg.Vals
		default:
			t.Fatalf("%s: %s means nothing", d.Pos, arg.Key)
		}
	}
}
