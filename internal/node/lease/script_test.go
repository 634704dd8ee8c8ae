// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/nodelease"
)

// TestScripts runs the text scripts in testdata. Each command does something to the
// world and then performs Next's steps until there is none.
//
//	node gone|back
//	event NAME [transition=T] [gates=(G,…)] [reason=R] [by=USER [actor=A]] [maintenance=M] [shutdown]   lease and guards are ours
//	ungate NAME gate=G                  its owner removes a gate
//	claim NAME                          an agent claims it
//	end NAME                            the driver reaches the end, and it is deleted
//	fail NAME                           it ends so, and is deleted; its cordon stays
//	delete NAME                         a user deletes it
//	cordon NAME                         the driver cordons the node for it
//	uncordon                            a user does
//	take HOLDER for=D [purpose=P] [user=U]   somebody else acquires or renews the lease, or fails to
//	usurp HOLDER for=D                  no controller runs until it gets the lease
//	give                                its holder gives the lease back
//	drop                                somebody deletes the Lease
//	clock DURATION                      time passes
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			said := runCommand(t, w, d)
			return said + settle(w)
		})
	})
}

// settle performs steps until there is none, and prints them.
func settle(w *world) string {
	var out strings.Builder
	for range 50 {
		decision := Next(w.facts(), w.now)
		if decision.Step != nil {
			fmt.Fprintln(&out, describe(decision.Step))
			w.apply(decision.Step)
			continue
		}
		if !decision.Wake.IsZero() {
			fmt.Fprintf(&out, "until t+%s\n", decision.Wake.Sub(w.epoch))
		}
		if out.Len() == 0 {
			return "nothing\n"
		}
		return out.String()
	}
	return out.String() + "does not settle\n"
}

func runCommand(t *testing.T, w *world, d *datadriven.TestData) (said string) {
	t.Helper()
	switch d.Cmd {
	case "node":
		if w.remove(); d.HasArg("back") {
			w.register()
		}
	case "event":
		runEvent(w, d)
	case "ungate":
		w.removeGate(first(d), gateOf(arg(d, "gate")))
	case "claim":
		w.claim(first(d))
	case "end":
		w.end(first(d))
	case "fail":
		delete(w.events, first(d))
	case "delete":
		w.change(first(d), func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: w.now} })
	case "cordon":
		w.cordon(first(d))
	case "uncordon":
		w.cordoned = nil
	case "take":
		if !w.take(first(d), arg(d, "purpose"), duration(t, arg(d, "for"))) {
			return "it is taken\n"
		}
		w.record(arg(d, "user"))
	case "usurp":
		w.now = w.now.Add(Duration + 2*nodelease.Skew)
		w.take(first(d), arg(d, "purpose"), duration(t, arg(d, "for")))
	case "give":
		w.give()
	case "drop":
		w.lease = nil
	case "clock":
		w.now = w.now.Add(duration(t, first(d)))
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	return ""
}

func runEvent(w *world, d *datadriven.TestData) {
	transition := "drain"
	if d.HasArg("transition") {
		transition = arg(d, "transition")
	}
	var gates []string
	for _, a := range d.CmdArgs {
		if a.Key == "gates" {
			for _, g := range a.Vals {
				gates = append(gates, gateOf(g))
			}
		}
	}
	e := w.addEvent(first(d), transition, gates...)
	e.Spec.Reason, e.Spec.RequestedBy, e.Spec.Actor = arg(d, "reason"), arg(d, "by"), arg(d, "actor")
	if name := arg(d, "maintenance"); name != "" {
		e.Labels = map[string]string{slipwayv1alpha1.MaintenanceEventLabel: "any"}
		e.Annotations = map[string]string{slipwayv1alpha1.MaintenancesAnnotation: fmt.Sprintf(`[{"uid":"1","name":%q}]`, name)}
	}
	if d.HasArg("shutdown") {
		e.Annotations = map[string]string{shutdown.Annotation: "1"}
	}
}

func gateOf(short string) string {
	switch short {
	case "lease":
		return lifecyclev1alpha1.GateLease
	case "guards":
		return lifecyclev1alpha1.GateGuards
	default:
		return short
	}
}

func first(d *datadriven.TestData) string { return d.CmdArgs[0].Key }

// arg is the value of an argument; empty, if there is none.
func arg(d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return ""
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
