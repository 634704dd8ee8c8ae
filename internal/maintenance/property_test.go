// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/nodelease"
)

// TestWhateverHappensTooManyAreNeverOutAndAllComesToAnEnd has several maintenances over the
// same nodes, and things happen in any order: stages move on, nodes are stuck, break, go and
// come, hooks and work are answered or not, somebody cancels or uncordons, takes a lease or
// gives it back, the API server refuses steps, the process crashes between two steps or does
// one twice. It wants that no rollout takes out more nodes than it may, nor two of the control
// plane; that no Job runs twice; that nothing is begun on a node that somebody else has leased;
// that Next changes none of what it is given; and that in the end, when all maintenances are
// deleted, nothing is left of them.
func TestWhateverHappensTooManyAreNeverOutAndAllComesToAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.slowJobs = true
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			labels := map[string]string{"pool": "all", "half": fmt.Sprint(i % 2)}
			if rapid.IntRange(0, 2).Draw(t, "control plane") == 0 {
				labels[labelControlPlane] = ""
			}
			w.addNode(fmt.Sprintf("n%d", i), labels).daemons = randomDaemons(t)
		}
		w.templates["reboot"] = &corev1.PodTemplate{}
		if rapid.Bool().Draw(t, "with leases") {
			w.leases = map[string]nodelease.Held{}
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "maintenances") {
			w.addMaintenance(fmt.Sprintf("m%d", i), randomSpec(t))
		}
		t.Repeat(w.actions())
		w.calm()
		w.now = w.now.Add(time.Second)
		for _, name := range slices.Sorted(maps.Keys(w.maintenances)) {
			w.deleteMaintenance(name)
		}
		log := w.settle(false)
		for range 10 { // whatever waits for a time
			w.now = w.now.Add(time.Hour)
			log += w.settle(false)
		}
		if diff := cmp.Diff([]string(nil), w.left()); diff != "" {
			t.Fatalf("is left (-want +got):\n%s\n%s", diff, log)
		}
	})
}

func randomSpec(t *rapid.T) slipwayv1alpha1.NodeMaintenanceSpec {
	spec := slipwayv1alpha1.NodeMaintenanceSpec{
		NodeSelector: rapid.SampledFrom([]corev1.NodeSelector{poolSelector("all"), halfSelector()}).Draw(t, "selector"),
		Stage: rapid.SampledFrom([]slipwayv1alpha1.MaintenanceStage{
			slipwayv1alpha1.StageDrain, slipwayv1alpha1.StageDrain, slipwayv1alpha1.StageIdle, slipwayv1alpha1.StageCordon,
		}).Draw(t, "stage"),
	}
	if rapid.Bool().Draw(t, "with rollout") {
		spec.Rollout = &slipwayv1alpha1.MaintenanceRollout{
			MaxUnavailable:   new(intstr.FromInt32(rapid.Int32Range(1, 3).Draw(t, "maxUnavailable"))),
			FailureThreshold: new(rapid.Int32Range(1, 3).Draw(t, "failureThreshold")),
		}
		switch rapid.IntRange(0, 3).Draw(t, "work") {
		case 0:
			spec.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkNone}
		case 1, 2:
			spec.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkJob, PodTemplate: "reboot"}
		}
	}
	for _, point := range []slipwayv1alpha1.HookPoint{slipwayv1alpha1.BeforeDrain, slipwayv1alpha1.AfterDrain, slipwayv1alpha1.BeforeReturn} {
		if rapid.IntRange(0, 3).Draw(t, string(point)) == 0 {
			hook := slipwayv1alpha1.MaintenanceHook{Name: "h" + string(point[0]), At: point, OnTimeout: rapid.SampledFrom(
				[]slipwayv1alpha1.HookTimeout{slipwayv1alpha1.HookFails, slipwayv1alpha1.HookProceeds}).Draw(t, "onTimeout")}
			hook.Timeout = &metav1.Duration{Duration: 10 * time.Minute}
			spec.Hooks = append(spec.Hooks, hook)
		}
	}
	spec.DrainPlan = randomPlan(t)
	if rapid.IntRange(0, 3).Draw(t, "drain timeout") == 0 {
		spec.Drain = &slipwayv1alpha1.MaintenanceDrain{Timeout: &metav1.Duration{Duration: 5 * time.Minute}}
	}
	if rapid.IntRange(0, 3).Draw(t, "window") == 0 {
		spec.Window = &slipwayv1alpha1.MaintenanceWindow{
			NotBefore: &metav1.Time{Time: epoch.Add(5 * time.Minute)}, Deadline: &metav1.Time{Time: epoch.Add(time.Hour)},
			AtDeadline: rapid.SampledFrom([]slipwayv1alpha1.AtDeadline{slipwayv1alpha1.FinishAtDeadline, slipwayv1alpha1.CancelAtDeadline}).Draw(t, "atDeadline"),
		}
	}
	return spec
}

func halfSelector() corev1.NodeSelector {
	s := poolSelector("0")
	s.NodeSelectorTerms[0].MatchExpressions[0].Key = "half"
	return s
}

// actions are what can happen.
func (w *world) actions() map[string]func(*rapid.T) {
	anyNode := func(t *rapid.T) (string, *machine) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(w.nodes))).Draw(t, "node")
		return name, w.nodes[name]
	}
	// Skip has rapid take another action: there is always one that works, and no run is lost.
	anyMaintenance := func(t *rapid.T) *slipwayv1alpha1.NodeMaintenance {
		names := slices.Sorted(maps.Keys(w.maintenances))
		if len(names) == 0 {
			t.Skip("none is left")
		}
		return w.maintenances[rapid.SampledFrom(names).Draw(t, "maintenance")]
	}
	return map[string]func(*rapid.T){
		"": w.check,
		"pass": func(t *rapid.T) {
			for range rapid.IntRange(1, 25).Draw(t, "times") {
				w.pass(t)
				w.check(t)
				if rapid.IntRange(0, 4).Draw(t, "others") > 0 {
					w.others()
				}
			}
		},
		"stage": func(t *rapid.T) {
			stages := []slipwayv1alpha1.MaintenanceStage{slipwayv1alpha1.StageIdle, slipwayv1alpha1.StageCordon, slipwayv1alpha1.StageDrain, slipwayv1alpha1.StageDrain, slipwayv1alpha1.StageDrain, slipwayv1alpha1.StageComplete}
			m := anyMaintenance(t)
			next := rapid.SampledFrom(stages).Draw(t, "stage")
			if slices.Index(stages, next) > slices.Index(stages, m.Spec.Stage) {
				m.Spec.Stage = next
				m.Generation++
			}
		},
		"pause":  func(t *rapid.T) { m := anyMaintenance(t); m.Spec.Paused = !m.Spec.Paused },
		"retry":  func(t *rapid.T) { anyMaintenance(t).Spec.Retry++ },
		"delete": func(t *rapid.T) { w.deleteMaintenance(anyMaintenance(t).Name) },
		"stuck":  func(t *rapid.T) { _, n := anyNode(t); n.stuck = !n.stuck },
		"refused": func(t *rapid.T) {
			_, n := anyNode(t)
			n.stuck, n.refusedBy = true, rapid.SampledFrom([]string{"shop/x", "shop/y"}).Draw(t, "budget")
		},
		"refuse steps": func(t *rapid.T) {
			kind := rapid.SampledFrom([]string{
				"CreateEvent", "ChangeEvent", "DeleteEvent", "CreateJob", "DeleteJob", "RecordOnNode", "MarkNode", "KeepAway", "LetBack", "ChangeMaintenance",
			}).Draw(t, "kind")
			if w.refusals[kind] == "" {
				w.refusals[kind] = "denied"
			} else {
				delete(w.refusals, kind)
			}
		},
		"starve": func(t *rapid.T) {
			budget := rapid.SampledFrom([]string{"shop/x", "shop/y"}).Draw(t, "budget")
			if _, is := w.starved[budget]; is {
				delete(w.starved, budget)
			} else {
				w.starved[budget] = w.now
			}
		},
		"broken": func(t *rapid.T) { _, n := anyNode(t); n.broken = !n.broken },
		"daemons": func(t *rapid.T) {
			_, n := anyNode(t)
			n.unready = rapid.SampledFrom([][]string{nil, {"kube-system/cni-1"}}).Draw(t, "unready")
		},
		"pod": func(t *rapid.T) {
			if _, n := anyNode(t); !n.node.Spec.Unschedulable || rapid.Bool().Draw(t, "tolerates") {
				n.pods = append(n.pods, 0)
			}
		},
		"gone": func(t *rapid.T) {
			if name, _ := anyNode(t); len(w.nodes) > 2 && rapid.IntRange(0, 3).Draw(t, "really") == 0 {
				delete(w.nodes, name)
			}
		},
		"uncordon": func(t *rapid.T) { _, n := anyNode(t); n.node.Spec.Unschedulable = false },
		"relabel": func(t *rapid.T) {
			_, n := anyNode(t)
			n.node.Labels["half"] = rapid.SampledFrom([]string{"0", "1"}).Draw(t, "half")
		},
		"cancel": func(t *rapid.T) { name, _ := anyNode(t); w.deleteEvent(DrainName(name)) },
		"answer": func(t *rapid.T) {
			name, _ := anyNode(t)
			if e := w.events[DrainName(name)]; e != nil {
				key := rapid.SampledFrom([]string{"hook.slipway.dev/hB", "hook.slipway.dev/hA", slipwayv1alpha1.WorkDoneAnnotation}).Draw(t, "annotation")
				e.Annotations = maps.Clone(e.Annotations)
				e.Annotations[key] = slipwayv1alpha1.HookOpen
			}
		},
		"accept": func(t *rapid.T) {
			name, _ := anyNode(t)
			if e := w.events[ReturnName(name)]; e != nil {
				e.Annotations = maps.Clone(e.Annotations)
				e.Annotations[slipwayv1alpha1.UnhealthyAcceptedAnnotation] = "somebody"
			}
		},
		"pods": func(t *rapid.T) {
			name, _ := anyNode(t)
			w.notReady = nil
			for i := range rapid.SampledFrom([]int{0, 9, 10}).Draw(t, "that do not run") {
				w.notReady = append(w.notReady, NotReadyPod{Name: fmt.Sprintf("shop/p%d", i), Created: w.now, Node: name})
			}
		},
		"Job": func(t *rapid.T) {
			for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
				if j := w.jobs[name]; finishedAs(j) == nil {
					finishJob(j, rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed}).Draw(t, "ends"), "", "")
					return
				}
			}
		},
		"lease": func(t *rapid.T) {
			name, _ := anyNode(t)
			switch held := w.leases[name]; {
			case w.leases == nil:
			case held.Holder != "" && held.Holder != nodelease.Slipway:
				delete(w.leases, name)
			default: // that somebody has broken it, or no controller was there to keep it
				w.leases[name] = nodelease.Held{Holder: "fwup", Until: w.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "minutes")) * time.Minute)}
			}
		},
		"time": func(t *rapid.T) {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "minutes")) * time.Minute)
		},
	}
}

// pass is one of ours: each step is done, not done, or done twice.
func (w *world) pass(t *rapid.T) {
	facts, before := w.facts(), w.facts()
	decision := Next(facts, w.now)
	if !reflect.DeepEqual(facts, before) {
		t.Fatalf("Next has changed what it was given:\n%s", cmp.Diff(before, facts))
	}
	w.forget(decision.Steps)
	for _, step := range decision.Steps {
		w.checkLease(t, step)
		for range rapid.SampledFrom([]int{1, 1, 1, 0, 2}).Draw(t, "done") {
			w.perform(step)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(decision.Statuses)) {
		status := decision.Statuses[uid]
		if rapid.IntRange(0, 3).Draw(t, "status") > 0 {
			w.writeStatus(uid, status)
		}
	}
}

// check is what must hold at each moment.
func (w *world) check(t *rapid.T) {
	for _, m := range w.maintenances {
		if m.Spec.Rollout == nil || !w.alone(m) {
			continue
		}
		out, controlPlane := w.outFor(m)
		if limit := m.Spec.Rollout.MaxUnavailable.IntValue(); len(out) > limit {
			t.Fatalf("%s has %v out, and may have %d", m.Name, out, limit)
		}
		if len(controlPlane) > 1 {
			t.Fatalf("of the control plane are out: %v", controlPlane)
		}
	}
	w.checkDaemons(t)
	for name, times := range w.ran {
		if times > 1 {
			t.Fatalf("Job %s ran %d times", name, times)
		}
	}
}

// alone says whether nobody else takes nodes out: what is out for others may be joined.
func (w *world) alone(m *slipwayv1alpha1.NodeMaintenance) bool {
	for _, e := range w.events {
		for _, f := range Refs(e) {
			if f.UID != m.UID {
				return false
			}
		}
	}
	return true
}

// outFor are the nodes that have events for the maintenance alone: it may join what others
// have taken out. And those of them that are of
// the control plane.
func (w *world) outFor(m *slipwayv1alpha1.NodeMaintenance) (out, controlPlane []string) {
	for _, e := range w.events {
		name := e.Spec.BindingNode
		if refOf(Refs(e), m.UID) == nil || w.shared[e.UID] || slices.Contains(out, name) {
			continue
		}
		n := w.nodes[name]
		if n == nil {
			continue // its event is about to end
		}
		if r := rawRecord(n.records, m.UID); r != nil && r.State == RecordReturned {
			continue // it is back, and its event is about to go
		}
		out = append(out, name)
		if _, is := n.node.Labels[labelControlPlane]; is {
			controlPlane = append(controlPlane, name)
		}
	}
	return out, controlPlane
}

// calm ends what stands in the way of an end.
func (w *world) calm() {
	w.slowJobs = false
	clear(w.refusals)
	for name, n := range w.nodes {
		n.stuck, n.broken, n.unready = false, false, nil
		if w.leases[name].Holder != nodelease.Slipway {
			delete(w.leases, name)
		}
	}
}

// left is what is left of maintenances.
func (w *world) left() (left []string) {
	for name := range w.maintenances {
		left = append(left, "maintenance "+name)
	}
	for name := range w.events {
		left = append(left, "event "+name)
	}
	for name := range w.jobs {
		left = append(left, "Job "+name)
	}
	for name, n := range w.nodes {
		// Who is deleted does not wait for a node that cannot be put back, but tells of it.
		if len(n.records) > 0 || !n.failed && (len(n.cordonedFor) > 0 || n.node.Spec.Unschedulable) {
			left = append(left, fmt.Sprintf("node %s: records %v, cordoned %v for %v", name, n.records, n.node.Spec.Unschedulable, n.cordonedFor))
		}
		left = append(left, n.daemonsLeft(name)...)
		for _, c := range n.node.Status.Conditions {
			if c.Type != corev1.NodeReady && c.Status == corev1.ConditionTrue {
				left = append(left, fmt.Sprintf("node %s: condition %s", name, c.Type))
			}
		}
	}
	return left
}
