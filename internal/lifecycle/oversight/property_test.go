// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// TestNothingIsEndedForAnAgentThatIsWell: under any sequence of losses, deletions,
// crashes and clock steps, the controller ends only what nobody else can, lets no two
// events pass the guards together, comes to rest, and once no agent comes back any
// more and everything is deleted, leaves nothing behind.
func TestNothingIsEndedForAnAgentThatIsWell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.central = rapid.Bool().Draw(t, "central")
		for _, name := range nodeNames[:rapid.IntRange(1, 4).Draw(t, "nodes")] {
			register(w, name)
		}
		for range rapid.IntRange(20, 80).Draw(t, "length") {
			disturb(t, w)
			run(t, w, rapid.IntRange(0, 12).Draw(t, "steps"))
		}
		w.central = false
		abandon(t, w)
	})
}

var nodeNames = []string{"w1", "w2", "cp1", "cp2", "none"}

// disturb does one thing to the world that is not the controller's doing.
func disturb(t *rapid.T, w *world) {
	names := slices.Sorted(maps.Keys(w.events))
	node := rapid.SampledFrom(nodeNames).Draw(t, "node")
	present := w.nodes[node] != nil
	switch what := rapid.SampledFrom([]int{1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 10, 11}).Draw(t, "disturbance"); {
	case what == 1:
		if name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"); w.events[name] == nil {
			addRandomEvent(t, w, name, node)
		}
	case what == 2 && len(names) > 0:
		w.deleteEvent(rapid.SampledFrom(names).Draw(t, "deleted"))
	case what == 3 && present:
		w.setAgent(node, rapid.Bool().Draw(t, "there"), rapid.Bool().Draw(t, "ready"))
	case what == 4 && present:
		w.setNodeReady(node, rapid.Bool().Draw(t, "ready"))
	case what == 5 && present && node != "w1":
		delete(w.nodes, node)
		delete(w.pods, node)
		delete(w.cordons, node)
	case what == 5 && node != "none":
		register(w, node)
	case what == 6 && present:
		w.nodes[node] = w.nodes[node].DeepCopy()
		w.nodes[node].Spec.Unschedulable = false
		w.cordons[node] = nil
	case what == 7:
		w.crash()
	case what == 8:
		w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(90*time.Second)).Draw(t, "clock")))
	case what == 10:
		w.skew[node] = time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "skew"))
	case what == 11 && len(names) > 0:
		name := rapid.SampledFrom(names).Draw(t, "claimed by a third party")
		if e := w.events[name]; e.Status.ClaimStatus == lifecyclev1alpha1.Pending && e.DeletionTimestamp == nil {
			w.claimForeign(name, lifecyclev1alpha1.Claimed)
		}
	case len(names) > 0:
		claimRandomly(t, w, w.events[rapid.SampledFrom(names).Draw(t, "claimed")])
	}
}

// register adds a node, of the control plane where its name says so, and its agent.
func register(w *world, name string) {
	labels := map[string]string{}
	if name[0] == 'c' {
		labels[controlPlane] = ""
	}
	w.addNode(name, labels)
	w.setAgent(name, true, true)
}

func addRandomEvent(t *rapid.T, w *world, name, node string) {
	e := w.addEvent(name, node, rapid.SampledFrom([]string{"drain", "drain", "return"}).Draw(t, "transition"))
	if rapid.IntRange(0, 2).Draw(t, "guarded") > 0 {
		e.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: lifecyclev1alpha1.GateGuards}}
	}
	if rapid.IntRange(0, 9).Draw(t, "forged") == 0 {
		e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
	}
	if rapid.IntRange(0, 4).Draw(t, "allowed") == 0 {
		e.Spec.Allow = []lifecyclev1alpha1.Guard{lifecyclev1alpha1.GuardLastSchedulableNode}
	}
}

// claimRandomly has the event claimed and its node cordoned, if it can be.
func claimRandomly(t *rapid.T, w *world, e *lifecyclev1alpha1.LifecycleEvent) {
	node := w.nodes[e.Spec.BindingNode]
	if node == nil || e.Status.ClaimStatus != lifecyclev1alpha1.Pending || len(e.Spec.Gates) > 0 || e.DeletionTimestamp != nil {
		return
	}
	kind := lifecyclev1alpha1.NodeAgent
	if w.central {
		kind = lifecyclev1alpha1.Controller
	}
	w.claim(e.Name, kind, time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "sla")))
	if e.Spec.TransitionName == "drain" && rapid.Bool().Draw(t, "cordons") {
		node = node.DeepCopy()
		node.Spec.Unschedulable = true
		w.nodes[node.Name] = node
		w.cordons[node.Name] = append(slices.Clone(w.cordons[node.Name]), e.UID)
	}
}

// run performs up to n steps. Whoever comes to rest sooner, rests.
func run(t *rapid.T, w *world, n int) {
	for range n {
		moved := false
		for _, node := range w.bound() {
			f := w.facts(node)
			decision := Next(f, w.now)
			if decision.Step == nil {
				continue
			}
			moved = true
			admissible(t, w, f, decision.Step)
			w.perform(node, decision.Step)
			lawful(t, w)
		}
		if !moved {
			return
		}
	}
}

// admissible holds a step against what must never be done.
func admissible(t *rapid.T, w *world, f Facts, step Step) {
	switch s := step.(type) {
	case WriteStatus:
		mayWrite(t, w, f, s)
	case Unprotect:
		if s.Event.Status.ClaimStatus == lifecyclev1alpha1.Claimed {
			t.Fatalf("takes the finalizer off an event that is claimed: %s", describe(step))
		}
	case RemoveGate:
		if lifecycleevent.ReturnsNode(s.Event, f.Transitions) {
			return
		}
		mayPass(t, w, s.Event)
	}
}

// mayWrite: an event whose Node is there ends only after it was stalled, and stalls
// only after its agent was lost for long enough, or silent.
func mayWrite(t *rapid.T, w *world, f Facts, s WriteStatus) {
	if f.Node == nil {
		return
	}
	stalled, before := stalledBy(&lifecyclev1alpha1.LifecycleEvent{Status: s.Status}), stalledBy(s.Event)
	switch {
	case s.Ends():
		mayEnd(t, w, f, s, before)
	case stalled == nil:
	case stalled.Reason == lifecyclev1alpha1.ReasonAgentNotResponding:
		if over := overSince(s.Event); over.IsZero() || w.now.Sub(over) < SilentAfter {
			t.Fatalf("stalls too early for an agent that is there: %s", describe(s))
		}
	case before == nil:
		if loss := claimerLoss(f, s.Event, w.now); loss == nil || w.now.Sub(loss.Since) < DeadAfter {
			t.Fatalf("stalls too early: %s", describe(s))
		}
	}
}

func mayEnd(t *rapid.T, w *world, f Facts, s WriteStatus, stalled *metav1.Condition) {
	if stalled == nil {
		t.Fatalf("ends what its agent can end: %s", describe(s))
	}
	after := w.now.Sub(stalled.LastTransitionTime.Time)
	finished := reasonOf(&lifecyclev1alpha1.LifecycleEvent{Status: s.Status}, lifecyclev1alpha1.ConditionFinished)
	switch {
	case stalled.Reason == lifecyclev1alpha1.ReasonAgentNotResponding:
		if over := overSince(s.Event); w.now.Sub(over) < SilentAfter+DeadAfter || after < DeadAfter {
			t.Fatalf("does not give an agent that is there its time: %s", describe(s))
		}
	case claimerLoss(f, s.Event, w.now) == nil:
		t.Fatalf("ends what its agent can end: %s", describe(s))
	case finished == lifecyclev1alpha1.ReasonCanceled && min(after, w.now.Sub(s.Event.DeletionTimestamp.Time)) < CancelAfter:
		t.Fatalf("cancels too early: %s", describe(s))
	}
}

// mayPass judges by the world, not by facts.
func mayPass(t *rapid.T, w *world, e *lifecyclev1alpha1.LifecycleEvent) {
	left, controlPlaneOut := 0, 0
	for name, node := range w.nodes {
		if name == e.Spec.BindingNode {
			continue
		}
		leaving := slices.ContainsFunc(slices.Collect(maps.Values(w.events)), func(o *lifecyclev1alpha1.LifecycleEvent) bool {
			return o.Spec.BindingNode == name && o.Spec.TransitionName == "drain" && !o.Status.ClaimStatus.Terminal() &&
				(o.Status.ClaimStatus == lifecyclev1alpha1.Claimed || len(o.Spec.Gates) == 0 && o.DeletionTimestamp == nil)
		})
		if nodeReady(node) && !node.Spec.Unschedulable && !leaving {
			left++
		}
		if _, labelled := node.Labels[controlPlane]; labelled && (leaving || len(w.cordons[name]) > 0) {
			controlPlaneOut++
		}
	}
	node := w.nodes[e.Spec.BindingNode]
	if takesPods := nodeReady(node) && !node.Spec.Unschedulable; takesPods && left == 0 && len(e.Spec.Allow) == 0 && len(w.nodes) > 1 {
		t.Fatalf("%s passes although no node is left", e.Name)
	}
	if _, labelled := node.Labels[controlPlane]; labelled && controlPlaneOut > 0 {
		t.Fatalf("%s passes although %d nodes of the control plane are out", e.Name, controlPlaneOut)
	}
}

// lawful holds the history of each event against the order of phases.
func lawful(t *rapid.T, w *world) {
	for uid, phases := range w.history {
		for i := 1; i < len(phases); i++ {
			from, to := phases[i-1], phases[i]
			ok := from == lifecyclev1alpha1.Pending && (to == lifecyclev1alpha1.Claimed || to == lifecyclev1alpha1.Failed) ||
				from == lifecyclev1alpha1.Claimed && to.Terminal()
			if !ok {
				t.Fatalf("event %s went from %s to %s", uid, from, to)
			}
		}
	}
}

// abandon takes all agents away for good and deletes all events, and waits until
// nothing is left.
func abandon(t *rapid.T, w *world) {
	for _, node := range nodeNames {
		w.setAgent(node, false, false)
	}
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		if lifecycleevent.HasForeignClaim(w.events[name]) {
			delete(w.events, name) // its claimer has ended and deleted it
		}
		w.deleteEvent(name)
	}
	for range 100 {
		run(t, w, 100)
		if len(w.events) == 0 {
			checkCordons(t, w)
			return
		}
		wake := time.Time{}
		for _, node := range w.bound() {
			decision := Next(w.facts(node), w.now)
			if decision.Step != nil {
				t.Fatalf("does not come to rest: %s", describe(decision.Step))
			}
			wake = waitUntil(wake).Or(waitUntil(decision.Wake)).Wake
		}
		if wake.IsZero() {
			t.Fatalf("stuck: %v, no step, no time to wake", slices.Sorted(maps.Keys(w.events)))
		}
		w.now = wake
	}
	t.Fatalf("does not come to an end: %d events", len(w.events))
}

// checkCordons: of an event that was canceled, no cordon is left.
func checkCordons(t *rapid.T, w *world) {
	for node, uids := range w.cordons {
		for _, uid := range uids {
			if reason := w.outcome[uid]; reason == "" || reason == lifecyclev1alpha1.ReasonCanceled {
				t.Fatalf("node %s is cordoned for event %s, which ended as %q", node, uid, reason)
			}
		}
	}
}
