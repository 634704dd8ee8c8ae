// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
)

// TestScripts runs the text scripts in testdata. Each command does something to the
// world and then performs Next's steps until it has none, printing each.
//
//	transition NAME driver=D start=S end=E [node=N] [pool=P] [sla=D]
//	event NAME transition=T [gate=G] [sla=D] [parameters=BYTES] [finalizer] [shutdown]
//	foreign EVENT [PHASE]       a third-party controller claims it with the KEP's fields alone, or ends it
//	controller [alone] [DRIVER ...]  we are the controller; the Node lists the drivers of its agent
//	central DRIVER [missing]    the controller records on transitions that the driver is registered with it
//	both OURS THEIRS [protects] we claim one event, the other claimer another one, in the same moment
//	other EVENT protects|waits|gone
//	                            what the other claimer does next
//	edit NAME ungate | parameters=BYTES
//	driver NAME registered|silent|missing
//	answer EVENT [state=S] [error=E] [node=N] [malformed=M] [progress=D/T] [waits] [message=M]
//	    [condition=TYPE/STATUS/REASON[/MESSAGE]] of the Node, or several in (...)
//	    [event-condition=TYPE/STATUS/REASON[/MESSAGE]] of the event
//	fail EVENT                  the call ended with "ask again"
//	delete EVENT                a user deletes it
//	node gone | back            a Node is deleted or created
//	others TYPE/STATUS/REASON[/MESSAGE] | gone-event
//	                            somebody else writes a condition of the Node; gone-event: we did, long ago
//	strip EVENT                 somebody takes off its finalizer, and deletes it
//	kubelet [declares] [native] the kubelet declares the feature gate, or no longer does; the API server serves the
//	                            kinds itself, or no longer does
//	home                        the API moves to another group and back
//	crash [alone]               the agent restarts; alone: no driver has registered again yet
//	clock DURATION              time passes
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			runCommand(t, w, d)
			return settle(w)
		})
	})
}

// settle performs steps until there is none, and prints them.
func settle(w *world) string {
	var out strings.Builder
	for range 200 {
		decision := Next(w.facts(), w.now)
		if decision.Step == nil && StandsDown(w.facts()) {
			fmt.Fprintln(&out, "stands down")
		}
		if decision.Step == nil {
			if !decision.Wake.IsZero() {
				fmt.Fprintf(&out, "until %s\n", w.at(decision.Wake))
			}
			if out.Len() == 0 {
				return "nothing\n"
			}
			return out.String()
		}
		fmt.Fprintln(&out, w.describe(decision.Step))
		w.perform(decision.Step)
	}
	return out.String() + "does not settle\n"
}

func runCommand(t *testing.T, w *world, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "transition":
		addTransition(t, w, d)
	case "event":
		addEvent(t, w, d)
	case "edit":
		w.change(w.events[first(d)], func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.Generation++
			if d.HasArg("ungate") {
				e.Spec.Gates = nil
			}
			scanParameters(t, d, e)
		})
	case "foreign":
		phase := lifecyclev1alpha1.Claimed
		if len(d.CmdArgs) > 1 {
			phase = lifecyclev1alpha1.ClaimStatus(d.CmdArgs[1].Key)
		}
		w.claimForeign(first(d), phase)
	case "controller":
		w.central = &Central{Alone: d.HasArg("alone"), Agentless: d.HasArg("alone")}
		for _, arg := range d.CmdArgs {
			if arg.Key != "alone" {
				w.central.NodeDrivers = append(w.central.NodeDrivers, arg.Key)
			}
		}
	case "central":
		w.markCentral(first(d), !d.HasArg("missing"))
	case "both":
		w.claimBy(w.claimer(), first(d), "")
		w.claimBy(w.otherClaimer(), d.CmdArgs[1].Key, append(d.CmdArgs, datadriven.CmdArg{})[2].Key)
	case "other":
		w.claimBy(w.otherClaimer(), first(d), d.CmdArgs[1].Key)
	case "driver":
		w.setDriver(first(d), !d.HasArg("missing"), d.HasArg("silent"))
	case "answer":
		w.answer(w.events[first(d)].UID, scanAnswer(t, d))
	case "fail":
		w.fail(w.events[first(d)].UID)
	case "delete":
		w.deleteEvent(first(d))
	case "node":
		switch {
		case d.HasArg("gone"):
			w.node = nil
		case d.HasArg("schedulable"):
			w.node = w.node.DeepCopy()
			w.node.Spec.Unschedulable = false
		default:
			w.node = newWorld().node
		}
	case "others":
		if first(d) == "gone-event" {
			w.others(Condition{"DrainInProgress", "True", "AdminRequested", "event old (UID 1234): 1/2 pods"})
		} else {
			w.others(scanCondition(first(d)))
		}
	case "kubelet":
		w.node = w.node.DeepCopy()
		w.node.Status.DeclaredFeatures = []string{"UserNamespacesHostNetworkSupport"}
		if d.HasArg("declares") {
			w.node.Status.DeclaredFeatures = append(w.node.Status.DeclaredFeatures, KubeletFeature)
		}
		w.native = d.HasArg("native")
	case "strip":
		delete(w.events, first(d))
	case "home":
		w.homeSince = w.now
	case "ttl":
		w.ttl = scanDuration(t, first(d))
	case "crash":
		w.crash()
		if d.HasArg("alone") {
			clear(w.registered)
		}
	case "clock":
		w.now = w.now.Add(scanDuration(t, first(d)))
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
}

func first(d *datadriven.TestData) string { return d.CmdArgs[0].Key }

func addTransition(t *testing.T, w *world, d *datadriven.TestData) {
	t.Helper()
	lct := &lifecyclev1alpha1.LifecycleTransition{ObjectMeta: metav1.ObjectMeta{Name: first(d), CreationTimestamp: metav1.NewTime(w.now)}}
	d.ScanArgs(t, "driver", &lct.Spec.Driver)
	d.ScanArgs(t, "start", &lct.Spec.Start)
	d.ScanArgs(t, "end", &lct.Spec.End)
	switch {
	case d.HasArg("node"):
		d.ScanArgs(t, "node", &lct.Spec.NodeName)
	case d.HasArg("pool"):
		var pool string
		d.ScanArgs(t, "pool", &pool)
		lct.Spec.NodeSelector = poolSelector(pool)
	default:
		lct.Spec.AllNodes = new(true)
	}
	lct.Spec.SLA = scanSLA(t, d)
	w.transitions[lct.Name] = lct
}

func addEvent(t *testing.T, w *world, d *datadriven.TestData) {
	t.Helper()
	var transition string
	d.ScanArgs(t, "transition", &transition)
	e := w.addEvent(first(d), transition)
	if d.HasArg("gate") {
		var gate string
		d.ScanArgs(t, "gate", &gate)
		e.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: gate}}
	}
	if d.HasArg("finalizer") {
		e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
	}
	if d.HasArg("shutdown") {
		e.Annotations = map[string]string{shutdown.Annotation: "boot-1"}
	}
	e.Spec.SLA = scanSLA(t, d)
	scanParameters(t, d, e)
}

func scanParameters(t *testing.T, d *datadriven.TestData, e *lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	if d.HasArg("parameters") {
		var size int
		d.ScanArgs(t, "parameters", &size)
		e.Spec.Parameters = &runtime.RawExtension{Raw: make([]byte, size)}
	}
}

func scanSLA(t *testing.T, d *datadriven.TestData) *metav1.Duration {
	t.Helper()
	if !d.HasArg("sla") {
		return nil
	}
	var text string
	d.ScanArgs(t, "sla", &text)
	return &metav1.Duration{Duration: scanDuration(t, text)}
}

func scanDuration(t *testing.T, text string) time.Duration {
	t.Helper()
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return duration
}

func scanAnswer(t *testing.T, d *datadriven.TestData) Answer {
	t.Helper()
	var a Answer
	for key, field := range map[string]*string{
		"state": &a.State, "error": &a.Error, "node": &a.NodeName, "malformed": &a.Malformed, "message": &a.Message,
	} {
		if d.HasArg(key) {
			d.ScanArgs(t, key, field)
		}
	}
	if d.HasArg("progress") {
		var text string
		d.ScanArgs(t, "progress", &text)
		a.Progress = &lifecyclev1alpha1.Progress{}
		if _, err := fmt.Sscanf(text, "%d/%d", &a.Progress.Done, &a.Progress.Total); err != nil {
			t.Fatal(err)
		}
	}
	for _, arg := range d.CmdArgs {
		for _, text := range arg.Vals {
			switch arg.Key {
			case "condition":
				a.NodeConditions = append(a.NodeConditions, scanCondition(text))
			case "event-condition":
				a.EventConditions = append(a.EventConditions, scanCondition(text))
			}
		}
	}
	a.Waits = d.HasArg("waits")
	return a
}

// scanCondition reads TYPE/STATUS/REASON[/MESSAGE].
func scanCondition(text string) Condition {
	parts := append(strings.SplitN(text, "/", 4), "")
	return Condition{Type: parts[0], Status: parts[1], Reason: parts[2], Message: parts[3]}
}

func poolSelector(pool string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{pool},
		}},
	}}}
}
