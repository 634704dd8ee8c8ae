// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/availability"
	"github.com/slipway-k8s/slipway/internal/node/freeze"
	"github.com/slipway-k8s/slipway/internal/node/hold"
)

// TestScripts runs the text scripts in testdata. Each command does something to the
// world and then performs Next's steps for all nodes until there is none.
//
//	drivers central | none              the controller restarts, with drivers of its own or without
//	central TRANSITION [missing]        the driver of the transition registers with the controller, or leaves it
//	node NAME [control-plane] [tainted] [dedicated] [agentless]
//	node NAME ready|unready|gone|cordon|uncordon [by=USER]
//	budget NAME [max=N] [min=N] [key=LABEL]   a NodeAvailabilityBudget of all nodes; without a limit, it is deleted
//	freeze NAME [for=REASON] [control-plane]  a Freeze of all nodes, or those of the control plane; without a reason, it is deleted
//	agent NODE ready|unready|missing
//	event NAME node=N [transition=T] [guarded] [gate=G] [allow=GUARD] [finalizer]
//	  [by=USER] [actor=A] [maintenance=M [takeover]] [for=PURPOSE] [until=D] [release=All] [breakglass]
//	transfer NAME to=USER [until=D]     the hold of the event is handed over
//	claim NAME [central] [sla=D]        its agent, or the controller, claims it
//	foreign NAME [PHASE]                a third-party controller claims it with the KEP's fields alone, or ends it
//	  [kind=K]                          it drains, and names itself in claimedBy
//	release NAME                        a person with that permission releases the claim
//	strict                              the guards hold events of the only node, too
//	reach NAME                          the driver reaches the end state
//	note NAME REASON                    its agent says why it is not claimed
//	end NAME [failed]                   its agent writes Succeeded, or Failed, and dies
//	edit NAME allow=GUARD | ungate
//	lease NAME held|taken|unheeded      the holder of leases says so; or it is not there any more
//	delete NAME                         a user deletes it
//	cordon NAME                         the driver cordons the node for it
//	ttl DURATION
//	skew NODE DURATION                  its clock, by which it says since when, is wrong
//	crash                               the controller restarts
//	clock DURATION                      time passes
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			runCommand(t, w, d)
			return settle(w)
		})
	})
}

// settle performs steps until no node has one, and prints them.
func settle(w *world) string {
	var out strings.Builder
	for range 200 {
		wake, moved := time.Time{}, false
		for _, node := range w.bound() {
			decision := Next(w.facts(node), w.now)
			if decision.Step != nil {
				fmt.Fprintln(&out, describe(decision.Step))
				w.perform(node, decision.Step)
				moved = true
			}
			wake = waitUntil(wake).Or(waitUntil(decision.Wake)).Wake
		}
		for _, name := range slices.Sorted(maps.Keys(w.transitions)) {
			decision := Mark(w.transitions[name], Registration{w.central, w.central && w.registered[name], w.missingSince[name]}, w.now)
			if decision.Step != nil {
				fmt.Fprintln(&out, describe(decision.Step))
				w.perform("", decision.Step)
				moved = true
			}
			wake = waitUntil(wake).Or(waitUntil(decision.Wake)).Wake
		}
		if moved {
			continue
		}
		if !wake.IsZero() {
			fmt.Fprintf(&out, "until %s\n", w.at(wake))
		}
		if out.Len() == 0 {
			return "nothing\n"
		}
		return out.String()
	}
	return out.String() + "does not settle\n"
}

func runCommand(t *testing.T, w *world, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "drivers":
		w.central = d.HasArg("central")
		w.crash()
	case "central":
		w.registered[first(d)] = !d.HasArg("missing")
		w.missingSince[first(d)] = w.now
	case "node":
		runNode(t, w, d)
	case "budget":
		w.budgets = slices.DeleteFunc(slices.Clone(w.budgets), func(b *availability.Budget) bool { return b.Name == first(d) })
		if b := scanBudget(t, d); b.Spec.MaxUnavailable != nil || b.Spec.MinAvailable != nil {
			w.budgets = append(w.budgets, b)
		}
	case "freeze":
		f := &freeze.Freeze{ObjectMeta: metav1.ObjectMeta{Name: first(d)}}
		f.Spec.Reason = arg(t, d, "for", "")
		if d.HasArg("control-plane") {
			f.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "node-role.kubernetes.io/control-plane", Operator: metav1.LabelSelectorOpExists}}
		}
		w.freezes = slices.DeleteFunc(slices.Clone(w.freezes), func(old *freeze.Freeze) bool { return old.Name == f.Name })
		if f.Spec.Reason != "" {
			w.freezes = append(w.freezes, f)
		}
	case "agent":
		w.setAgent(first(d), !d.HasArg("missing"), d.HasArg("ready"))
	case "event":
		runEvent(t, w, d)
	case "claim":
		kind := lifecyclev1alpha1.NodeAgent
		if d.HasArg("central") {
			kind = lifecyclev1alpha1.Controller
		}
		w.claim(first(d), kind, duration(t, arg(t, d, "sla", "0s")))
	case "foreign":
		phase := lifecyclev1alpha1.Claimed
		if len(d.CmdArgs) > 1 && d.CmdArgs[1].Key != "kind" {
			phase = lifecyclev1alpha1.ClaimStatus(d.CmdArgs[1].Key)
		}
		w.claimForeign(first(d), phase)
		if kind := arg(t, d, "kind", ""); kind != "" {
			w.change(w.events[first(d)], func(e *lifecyclev1alpha1.LifecycleEvent) {
				e.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.ClaimerKind(kind), Identity: "x"}
				e.Status.Driver = &lifecyclev1alpha1.ClaimedDriver{Name: "d", End: lifecyclev1alpha1.StateDrainComplete}
			})
		}
	case "release":
		w.change(w.events[first(d)], func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.Annotations = map[string]string{lifecyclev1alpha1.ReleaseClaimAnnotation: "true"}
		})
	case "strict":
		w.strict = true
	case "lease":
		runLease(w, d)
	case "reach":
		w.change(w.events[first(d)], func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.State = e.Status.Driver.End })
	case "note":
		e := w.events[first(d)]
		w.apply(e.Spec.BindingNode, noteClaimable(e, d.CmdArgs[1].Key, "", w.now).Step)
	case "end":
		e := w.events[first(d)]
		if d.HasArg("failed") {
			w.apply(e.Spec.BindingNode, finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonDriverFailed, "", w.now).Step)
			break
		}
		e.Status.State = e.Status.Driver.End
		w.apply(e.Spec.BindingNode, finish(e, lifecyclev1alpha1.Succeeded, lifecyclev1alpha1.ReasonSucceeded, "", w.now).Step)
	case "edit":
		w.change(w.events[first(d)], func(e *lifecyclev1alpha1.LifecycleEvent) {
			if d.HasArg("ungate") {
				e.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: lifecyclev1alpha1.GateGuards}}
			}
			allow(t, d, e)
		})
	case "delete":
		w.deleteEvent(first(d))
	case "cordon":
		e := w.events[first(d)]
		w.cordons[e.Spec.BindingNode] = append(w.cordons[e.Spec.BindingNode], e.UID)
		w.nodes[e.Spec.BindingNode].Spec.Unschedulable = true
	case "ttl":
		w.ttl = duration(t, first(d))
	case "skew":
		w.skew[first(d)] = duration(t, d.CmdArgs[1].Key)
	case "crash":
		w.crash()
	case "transfer":
		i := slices.IndexFunc(w.holds, func(h *hold.Hold) bool { return h.Spec.EventName == first(d) })
		w.holds[i] = w.holds[i].DeepCopy()
		w.holds[i].Spec.User, w.holds[i].Spec.Until = arg(t, d, "to", ""), nil
		if after := duration(t, arg(t, d, "until", "0s")); after != 0 {
			w.holds[i].Spec.Until = &metav1.Time{Time: w.now.Add(after)}
		}
	case "clock":
		w.now = w.now.Add(duration(t, first(d)))
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
}

func runNode(t *testing.T, w *world, d *datadriven.TestData) {
	t.Helper()
	name := first(d)
	switch {
	case d.HasArg("gone"):
		delete(w.nodes, name)
		delete(w.pods, name)
		delete(w.cordons, name)
	case d.HasArg("ready"), d.HasArg("unready"):
		w.setNodeReady(name, d.HasArg("ready"))
	case d.HasArg("cordon"), d.HasArg("uncordon"):
		w.nodes[name].Spec.Unschedulable = d.HasArg("cordon")
		w.nodes[name].Annotations = map[string]string{hold.UncordonedBy: arg(t, d, "by", "")}
		w.cordons[name] = []types.UID{} // by hand
	default:
		labels, taints := map[string]string{}, []corev1.Taint{}
		if d.HasArg("control-plane") {
			labels[controlPlane] = ""
		}
		if d.HasArg("tainted") {
			taints = append(taints, corev1.Taint{Key: controlPlane, Effect: corev1.TaintEffectNoSchedule})
		}
		if d.HasArg("dedicated") {
			taints = append(taints, corev1.Taint{Key: "example.com/gpu", Effect: corev1.TaintEffectNoSchedule})
		}
		w.addNode(name, labels, taints...)
		w.setAgent(name, !d.HasArg("agentless"), true)
	}
}

func runEvent(t *testing.T, w *world, d *datadriven.TestData) {
	t.Helper()
	e := w.addEvent(first(d), arg(t, d, "node", ""), arg(t, d, "transition", "drain"))
	if d.HasArg("guarded") {
		e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: lifecyclev1alpha1.GateGuards})
	}
	if gate := arg(t, d, "gate", ""); gate != "" {
		e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: gate})
	}
	e.Spec.RequestedBy, e.Spec.Actor, e.Spec.Reason = arg(t, d, "by", ""), arg(t, d, "actor", ""), arg(t, d, "for", "")
	if after := duration(t, arg(t, d, "until", "0s")); after != 0 {
		e.Spec.Until = &metav1.Time{Time: w.now.Add(after)}
	}
	if m := arg(t, d, "maintenance", ""); m != "" {
		e.Labels = map[string]string{slipwayv1alpha1.MaintenanceEventLabel: "drain"}
		e.Annotations = map[string]string{slipwayv1alpha1.MaintenancesAnnotation: fmt.Sprintf(`[{"uid":"%[1]s-uid","name":"%[1]s","takeOver":%t}]`, m, d.HasArg("takeover"))}
	}
	if all := arg(t, d, "release", ""); all != "" {
		e.Spec.Parameters = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"release":%q}`, all)}
	}
	if d.HasArg("breakglass") {
		e.Annotations = map[string]string{lifecyclev1alpha1.BreakGlassAnnotation: "true"}
		e.Finalizers = []string{lifecyclev1alpha1.HoldFinalizer}
	}
	if d.HasArg("finalizer") {
		e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
	}
	allow(t, d, e)
}

func allow(t *testing.T, d *datadriven.TestData, e *lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	if guard := arg(t, d, "allow", ""); guard != "" {
		e.Spec.Allow = append(e.Spec.Allow, lifecyclev1alpha1.Guard(guard))
	}
}

func first(d *datadriven.TestData) string { return d.CmdArgs[0].Key }

func arg(t *testing.T, d *datadriven.TestData, key, otherwise string) string {
	t.Helper()
	if !d.HasArg(key) {
		return otherwise
	}
	var value string
	d.ScanArgs(t, key, &value)
	return value
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func runLease(w *world, d *datadriven.TestData) {
	w.leases = !d.HasArg("unheeded")
	value, reason := metav1.ConditionFalse, lifecyclev1alpha1.ReasonHeldByAnother
	if d.HasArg("held") {
		value, reason = metav1.ConditionTrue, lifecyclev1alpha1.ReasonHeld
	}
	w.change(w.events[first(d)], func(e *lifecyclev1alpha1.LifecycleEvent) {
		apimeta.SetStatusCondition(&e.Status.Conditions, metav1.Condition{Type: lifecyclev1alpha1.ConditionLeaseHeld, Status: value, Reason: reason})
	})
}
