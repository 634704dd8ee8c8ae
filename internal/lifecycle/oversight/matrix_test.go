// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
)

// request creates an event of a user on node n, at the gate of the guards.
func (w *world) request(name, user, transition string, change ...func(*lifecyclev1alpha1.LifecycleEvent)) {
	e := w.addEvent(name, "n", transition)
	e.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: lifecyclev1alpha1.GateGuards}}
	e.Spec.RequestedBy = user
	for _, f := range change {
		f(e)
	}
	settle(w)
}

func ofMaintenance(e *lifecyclev1alpha1.LifecycleEvent) {
	e.Labels = map[string]string{slipwayv1alpha1.MaintenanceEventLabel: "drain"}
	e.Annotations = map[string]string{slipwayv1alpha1.MaintenancesAnnotation: fmt.Sprintf(`[{"uid":%q,"name":%q}]`, e.Name, e.Name)}
}

func ofShutdown(e *lifecyclev1alpha1.LifecycleEvent) {
	e.Annotations = map[string]string{shutdown.Annotation: "{}"}
}

// begun lets an event begin, and cordons the node for it.
func (w *world) begun(name string) {
	w.claim(name, lifecyclev1alpha1.NodeAgent, 0)
	w.cordons["n"] = append(w.cordons["n"], w.events[name].UID)
	w.nodes["n"].Spec.Unschedulable = true
	settle(w)
}

// TestWhoWaitsForWhom plays each pair of actors on one node, in both orders, with the same user and with another one. The table
// of docs/holds.md has the results.
func TestWhoWaitsForWhom(t *testing.T) {
	first := []struct {
		name string
		do   func(*world)
	}{
		{"nothing", func(*world) {}},
		{"a drain that has ended", func(w *world) {
			w.request("first", "alice", "drain")
			w.begun("first")
			w.apply("n", finish(w.events["first"], lifecyclev1alpha1.Succeeded, lifecyclev1alpha1.ReasonSucceeded, "", w.now).Step)
		}},
		{"a drain in progress", func(w *world) {
			w.request("first", "alice", "drain")
			w.begun("first")
		}},
		{"a maintenance, with work by hand or a Job", func(w *world) {
			w.request("first", "alice", "drain", ofMaintenance)
			w.begun("first")
		}},
		{"a shutdown of the machine", func(w *world) {
			w.request("first", "", "drain", ofShutdown)
			w.begun("first")
		}},
		{"a cordon of another party", func(w *world) { w.nodes["n"].Spec.Unschedulable = true }},
		{"the claim of a third-party controller", func(w *world) {
			w.request("first", "alice", "drain")
			w.claimForeign("first", lifecyclev1alpha1.Claimed)
		}},
	}
	second := []struct {
		name string
		do   func(*world)
	}{
		{"its user drains", func(w *world) { w.request("second", "alice", "drain") }},
		{"another user drains", func(w *world) { w.request("second", "bob", "drain") }},
		{"a maintenance begins", func(w *world) { w.request("second", "alice", "drain", ofMaintenance) }},
		{"the machine shuts down", func(w *world) { w.request("second", "", "drain", ofShutdown) }},
		{"its user returns it", func(w *world) { w.request("second", "alice", "return") }},
		{"another user returns it", func(w *world) { w.request("second", "bob", "return") }},
	}
	var table strings.Builder
	table.WriteString("| first, on the node |")
	for _, s := range second {
		table.WriteString(" " + s.name + " |")
	}
	table.WriteString("\n|" + strings.Repeat("---|", len(second)+1) + "\n")
	for _, f := range first {
		table.WriteString("| " + f.name + " |")
		for _, s := range second {
			w := newWorld()
			for _, node := range []string{"n", "spare"} {
				w.addNode(node, nil)
				w.setAgent(node, true, true)
			}
			f.do(w)
			settle(w)
			s.do(w)
			settle(w)
			table.WriteString(" " + fate(w) + " |")
		}
		table.WriteString("\n")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "holds.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), table.String()) {
		t.Errorf("docs/holds.md does not have this table:\n%s", table.String())
	}
}

// fate is the result of the second event.
func fate(w *world) string {
	e := w.events["second"]
	isHeld := slices.ContainsFunc(w.holds, func(h *hold.Hold) bool { return h.Spec.EventUID == e.UID })
	guards := reasonOf(e, lifecyclev1alpha1.ConditionGuardsPassed)
	switch {
	case e.Status.ClaimStatus.Terminal():
		return "fails, `" + reasonOf(e, lifecyclev1alpha1.ConditionFinished) + "`"
	case len(e.Spec.Gates) > 0 && guards != "":
		return "waits, `" + guards + "`"
	case len(e.Spec.Gates) > 0:
		return "waits"
	case isHeld:
		return "passes, and holds it"
	default:
		return "passes"
	}
}
