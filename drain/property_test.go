// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// TestPaceKeepsBudgetsAndGoesOn drives the drains of three nodes, one of them by a process of its own, through a
// simulated cluster, in any order of events. At each decision it checks that nothing is sent that the budgets, as the
// watch has shown them, would refuse; that each process has one eviction in flight at most under each budget; that
// something is sent whenever something may be; and that a budget is left to others only if there are others. At the end
// it lets the cluster calm down and checks that all nodes become empty.
func TestPaceKeepsBudgetsAndGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld([]string{"w1", "w2"}, []string{"w4"})
		w.play(t)
	})
}

// TestEvictPodKeepsBudgetsAndGoesOn does the same with a process that besides evicts pods by EvictPod, all those that are
// elsewhere at the beginning.
func TestEvictPodKeepsBudgetsAndGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld([]string{"w1", "w2", anywhere}, []string{"w4"})
		w.play(t)
	})
}

func (w *world) play(t *rapid.T) {
	apps := []string{"a", "b", "c"}
	for _, app := range apps {
		w.populate(t, app)
	}
	for _, pod := range w.pods {
		w.alone[pod.UID] = pod.Spec.NodeName == "w3"
	}
	w.showAll()
	app := rapid.SampledFrom(apps)
	t.Repeat(map[string]func(*rapid.T){
		"":                func(t *rapid.T) { w.checkSlots(t) },
		"decide":          func(t *rapid.T) { w.decide(t, rapid.SampledFrom(w.drains).Draw(t, "drain")) },
		"answer":          func(t *rapid.T) { w.answerOne(t, rapid.SampledFrom(w.drains).Draw(t, "drain")) },
		"show a pod":      func(*rapid.T) { w.showPod() },
		"show a budget":   func(*rapid.T) { w.showBudget() },
		"control":         func(t *rapid.T) { w.control(app.Draw(t, "app")) },
		"replace":         func(t *rapid.T) { w.replace(app.Draw(t, "app")) },
		"ready":           func(t *rapid.T) { w.setReady(t, rapid.Bool().Draw(t, "ready")) },
		"end":             func(*rapid.T) { w.endOne() },
		"somebody evicts": func(t *rapid.T) { w.evictOne(t) },
		"edit a budget":   func(t *rapid.T) { w.edit(t, app.Draw(t, "app")) },
		"a second budget": func(t *rapid.T) { w.second(t, app.Draw(t, "app")) },
		"time passes": func(t *rapid.T) {
			w.clock.Step(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
		},
		"the server is hot": func(t *rapid.T) { w.answerOverload(t, rapid.SampledFrom(w.drains).Draw(t, "drain")) },
	})
	w.calmDown(t, apps)
}

func (w *world) populate(t *rapid.T, app string) {
	w.replicas[app] = rapid.IntRange(1, 6).Draw(t, "replicas of "+app)
	for range w.replicas[app] {
		node := rapid.SampledFrom([]string{"w1", "w2", "w3", "w4"}).Draw(t, "node")
		w.start(app, node, rapid.IntRange(0, 3).Draw(t, "ready") > 0)
	}
	if rapid.Bool().Draw(t, "budget for "+app) {
		w.protect(app, app, int32(rapid.IntRange(0, w.replicas[app]).Draw(t, "desired")))
	}
}

// decide lets a drain decide and send, as the loop does.
func (w *world) decide(t *rapid.T, d *simulated) {
	f := w.factsOf(d)
	sent := map[types.UID]bool{}
	for _, s := range d.decided(f) {
		if allowed, _ := verdict(s.pod, d.guards(s.pod)); !allowed {
			t.Fatalf("eviction of %s is sent although its budget refuses", s.pod.Name)
		}
		if !w.concerns(d, s.pod) {
			t.Fatalf("eviction of %s on %s is sent by the drain of %s", s.pod.Name, s.pod.Spec.NodeName, d.node)
		}
		if s.budget != nil && !d.queue.reserve(s.budget, s.pod.Name, watchstore.NewSignal()) {
			if d.queue.reserved[s.budget.UID] != nil {
				t.Fatalf("eviction of %s is sent although the slot of budget %s is taken", s.pod.Name, s.budget.Name)
			}
			continue // it feels its way, and has taken another budget in this pass
		}
		sent[s.pod.UID] = true
		d.sent(s)
		d.basis[s.pod.UID] = basis(s.pod, d.guards(s.pod))
		d.flying = append(d.flying, s)
	}
	w.checkProgress(t, d, f, sent)
}

// decided is what a drain wants to send; or, for pods that are anywhere, what EvictPod does.
func (d *simulated) decided(f facts) (sends []send) {
	if d.node != anywhere {
		p := decide(f)
		d.keep(p.notes)
		return p.evict
	}
	return decidePods(f).sends
}

func (w *world) factsOf(d *simulated) facts {
	f := calm()
	f.now, f.nodeName = w.clock.Now(), d.node
	for _, pod := range d.pods {
		f.pods = append(f.pods, pod)
	}
	f.budgets["default"] = nil
	for _, b := range d.budgets {
		f.budgets["default"] = append(f.budgets["default"], b)
		if until, busy := d.queue.busy(b, watchstore.NewSignal()); busy {
			f.reserved[b.UID] = until
		}
	}
	d.saw(f.pods, func(uid types.UID) bool { return d.pods[uid] != nil })
	d.fill(&f)
	return f
}

// checkProgress finds each pod that nothing keeps and checks that it was sent, or another one in its place.
func (w *world) checkProgress(t *rapid.T, d *simulated, f facts, sent map[types.UID]bool) {
	if f.now.Before(f.brake.until) || len(d.flying) >= maxInFlight {
		return
	}
	for _, pod := range f.pods {
		try := f.tries[pod.UID]
		if sent[pod.UID] || pod.DeletionTimestamp != nil || try.inFlight {
			continue
		}
		of := d.guards(pod)
		allowed, _ := verdict(pod, of)
		news := try.outcome == budgetRefused && d.basis[pod.UID] != basis(pod, of)
		if !allowed || f.now.Before(try.notBefore) && !news {
			continue
		}
		if len(of) == 0 {
			t.Fatalf("%s needs no budget and waits", pod.Name)
		}
		until, busy := d.queue.busy(newBudget(of[0]), watchstore.NewSignal())
		if !busy {
			t.Fatalf("%s waits although budget %s allows it and has no eviction in flight", pod.Name, of[0].Name)
		}
		switch tried, _ := d.queue.probing(f.now); {
		case d.queue.reserved[of[0].UID] != nil:
		case !d.queue.by.of(newBudget(of[0])).met && tried > 0: // others are tried first
		default:
			w.checkYielding(t, d, of[0].Name, until)
		}
	}
}

// checkYielding checks that a budget is left to others for a reason, and not for ever.
func (w *world) checkYielding(t *rapid.T, d *simulated, budget string, until time.Time) {
	disturbed := false // under any budget: who meets a rival there expects it elsewhere
	for _, by := range w.disturbed {
		disturbed = disturbed || by[d.queue]
	}
	if !disturbed {
		t.Fatalf("budget %s is left to others, but there are none", budget)
	}
	if most := w.clock.Now().Add(lagMost.pause(1)); until.After(most) {
		t.Fatalf("budget %s is left to others until %s", budget, until)
	}
}

func (w *world) checkSlots(t *rapid.T) {
	type slot struct {
		process *budgetQueue
		budget  types.UID
	}
	flying := map[slot]int{}
	for _, d := range w.drains {
		for _, s := range d.flying {
			if s.budget != nil {
				flying[slot{d.queue, s.budget.UID}]++
			}
		}
	}
	for slot, n := range flying {
		if n > 1 {
			t.Fatalf("%d evictions of one process are in flight under %s", n, slot.budget)
		}
	}
	for _, b := range w.budgets {
		if b.Status.DisruptionsAllowed < 0 {
			t.Fatalf("budget %s was overdrawn", b.Name)
		}
	}
}

func (d *simulated) guards(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var of []*policyv1.PodDisruptionBudget
	for _, b := range d.budgets {
		if b.Spec.Selector.MatchLabels["app"] == pod.Labels["app"] {
			of = append(of, b.PodDisruptionBudget)
		}
	}
	return of
}

// basis is what an eviction is decided on.
func basis(pod *corev1.Pod, guards []*policyv1.PodDisruptionBudget) string {
	names := []string{pod.ResourceVersion}
	for _, b := range guards {
		names = append(names, b.Name+b.ResourceVersion)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// calmDown relaxes all budgets to a disruption at a time, lets everything happen in turn, and expects the end.
func (w *world) calmDown(t *rapid.T, apps []string) {
	for _, app := range apps {
		if b := w.budget(app + "-too"); b != nil {
			w.removeBudget(b)
		}
		if b := w.budget(app); b != nil {
			b = b.DeepCopy()
			b.Status.DesiredHealthy = int32(w.replicas[app]) - 1
			w.writeBudget(b)
		}
	}
	for range 500 {
		for _, app := range apps {
			w.replace(app)
		}
		for _, p := range slices.Clone(w.pods) {
			if !ready(p) {
				p = p.DeepCopy()
				p.Status.Conditions[0].Status = corev1.ConditionTrue
				w.write(p)
			}
			if p.DeletionTimestamp != nil {
				w.remove(p)
			}
		}
		for _, app := range apps {
			w.control(app)
		}
		w.showAll()
		empty := true
		for _, d := range w.drains {
			w.decide(t, d)
			for len(d.flying) > 0 {
				w.land(d, 0, w.serve(d.queue, d.flying[0].pod))
			}
			empty = empty && len(d.pods) == 0
		}
		if empty {
			return
		}
		w.clock.Step(time.Second)
	}
	t.Fatal("the cluster is calm, but the nodes do not become empty")
}
