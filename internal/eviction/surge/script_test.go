// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestScripts tells what is done in testdata. Each command changes the world; what is
// printed is what then is done, by us and by the ReplicaSet controller.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "deployment" {
				w = newDeployment(t, d)
				return ""
			}
			w.command(t, d)
			return w.settle()
		})
	})
}

func newDeployment(t *testing.T, d *datadriven.TestData) *world {
	replicas, deadline, minReady := 1, 600, 0
	d.MaybeScanArgs(t, "replicas", &replicas)
	d.MaybeScanArgs(t, "deadline", &deadline)
	d.MaybeScanArgs(t, "min-ready", &minReady)
	w := newWorld(int32(replicas))
	w.deployment.Spec.ProgressDeadlineSeconds = new(int32(deadline))
	w.set.Spec.MinReadySeconds = int32(minReady)
	w.deployment.Spec.Paused = d.HasArg("paused")
	if d.HasArg("recreate") {
		w.deployment.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	}
	return w
}

func (w *world) command(t *testing.T, d *datadriven.TestData) {
	name, label, annotation := "", "", ""
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "turn":
		w.turns[name], w.standings[name] = &Run{Since: w.now}, Awaited
	case "restart": // and its turns have not begun again
		w.turns = map[string]*Run{}
	case "withdraw":
		delete(w.turns, name)
		w.standings[name] = NoEviction
	case "interrupt":
		delete(w.turns, name)
		w.standings[name] = Interrupted
	case "ready", "unready":
		w.setReady(name, d.Cmd == "ready")
	case "old":
		w.pods[name].CreationTimestamp = metav1.NewTime(w.now.Add(-time.Hour))
	case "unschedulable":
		w.pods[name].Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available",
		}}
	case "evict", "collect":
		w.idle = false
		delete(w.pods, name)
		delete(w.turns, name)
		delete(w.standings, name)
	case "forge":
		d.ScanArgs(t, "annotation", &annotation)
		d.ScanArgs(t, "label", &label)
		w.pods[name].Annotations, w.pods[name].Labels[LabelHash] = map[string]string{AnnotationHash: annotation}, label
	case "extra": // a pod that the ReplicaSet controller has yet to delete
		w.create()
		w.idle = true
	case "clock":
		passed, err := time.ParseDuration(name)
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(passed)
	case "scale":
		replicas := int32(0)
		d.ScanArgs(t, "replicas", &replicas)
		w.deployment.Spec.Replicas, w.set.Spec.Replicas = &replicas, new(replicas)
	case "service":
		w.services = []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "canary"}, Spec: corev1.ServiceSpec{Selector: map[string]string{LabelHash: hash}}}}
	case "budget":
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "canary"}}
		b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: LabelHash, Operator: metav1.LabelSelectorOpExists}}}
		w.budgets = []*policyv1.PodDisruptionBudget{b}
	default:
		w.rollout(t, d)
	}
}

// rollout is what happens to the Deployment.
func (w *world) rollout(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "template":
		w.deployment.Spec.Template.Annotations = map[string]string{"version": "2"}
	case "unobserved":
		w.deployment.Generation++
	case "observed":
		w.deployment.Status.ObservedGeneration = w.deployment.Generation
	case "others": // pods of an older ReplicaSet
		w.deployment.Status.Replicas, w.deployment.Status.UpdatedReplicas = 2, 1
	case "delete":
		w.deployment, w.set = nil, nil
	case "orphan": // the garbage collector takes the Deployment from its dependents
		w.deployment = nil
		for _, p := range w.pods {
			p.OwnerReferences = slices.DeleteFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Deployment" })
		}
	default:
		t.Fatalf("%s: no such command: %s", d.Pos, d.Cmd)
	}
}

// settle lets us and the ReplicaSet controller work until neither has anything to do.
func (w *world) settle() string {
	var out strings.Builder
	for range 100 {
		decision := Next(w.facts(), w.now)
		if decision.Step != nil {
			fmt.Fprintln(&out, describe(decision.Step))
			w.perform(decision.Step)
			continue
		}
		var did []string
		if !w.idle {
			did = w.reconcile()
		}
		if len(did) > 0 {
			fmt.Fprintln(&out, "  ReplicaSet: "+strings.Join(did, ", "))
			continue
		}
		for _, name := range w.names() {
			if what, ok := decision.Waiting[w.pods[name].UID]; ok {
				fmt.Fprintf(&out, "%s waits: %s\n", name, what)
			}
		}
		if !decision.Wake.IsZero() {
			fmt.Fprintf(&out, "until %s\n", decision.Wake.Sub(epoch))
		}
		if out.Len() == 0 {
			return "nothing\n"
		}
		return out.String()
	}
	return out.String() + "does not settle\n"
}

func describe(step Step) string {
	switch s := step.(type) {
	case Release:
		return "release " + s.Pod.Name
	case GiveBack:
		return "give back " + s.Pod.Name + ": " + s.Why
	case Forget:
		return "forget " + s.Pod.Name
	case Complete:
		return "complete " + s.Pod.Name + ": " + s.Message
	default:
		panic(fmt.Sprintf("%T", step))
	}
}
