// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// poked reports whether somebody was to wake, and that they have.
func poked(s watchstore.Signal) bool {
	select {
	case <-s:
		return true
	default:
		return false
	}
}

// Of many budgets of a namespace, a Drain is woken by those that guard its pods; and by all that may come to guard them.
func TestADrainIsWokenByItsOwnBudgets(t *testing.T) {
	named := func(name string) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["app"] = name }
	}
	changed := func(b *policyv1.PodDisruptionBudget) { b.ResourceVersion, b.Status.DisruptionsAllowed = "2", 0 }
	for name, tc := range map[string]struct {
		happens func(*budgetWatch)
		woken   bool
		anew    bool // which budgets guard which pod
		guards  int
	}{
		"its budget changes":               {func(b *budgetWatch) { _ = b.Update(newPDB("web", changed).PodDisruptionBudget) }, true, false, 1},
		"another changes":                  {func(b *budgetWatch) { _ = b.Update(newPDB("db", named("db"), changed).PodDisruptionBudget) }, false, false, 1},
		"another guards its pods now":      {func(b *budgetWatch) { _ = b.Update(newPDB("db", changed).PodDisruptionBudget) }, true, true, 2},
		"one comes":                        {func(b *budgetWatch) { _ = b.Add(newPDB("new").PodDisruptionBudget) }, true, true, 2},
		"its budget goes":                  {func(b *budgetWatch) { _ = b.Delete(newPDB("web").PodDisruptionBudget) }, true, true, 0},
		"all are read anew":                {func(b *budgetWatch) { _ = b.Replace([]any{newPDB("new").PodDisruptionBudget}, "9") }, true, true, 1},
		"they cannot be read":              {func(b *budgetWatch) { b.Heard(t.Context(), errNotRead) }, true, false, 1},
		"its budget does not guard it now": {func(b *budgetWatch) { _ = b.Update(newPDB("web", named("db")).PodDisruptionBudget) }, true, true, 0},
		"another goes":                     {func(b *budgetWatch) { _ = b.Delete(newPDB("db").PodDisruptionBudget) }, true, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			wake := watchstore.NewSignal()
			b := newBudgetWatch(newBudgetQueue(clocktesting.NewFakePassiveClock(noon)))
			g, pods := &guarding{budgetWatch: b}, []*corev1.Pod{newPod("a")}
			if _, _, known := g.among(pods, wake); known {
				t.Error("they are known before they were read")
			}
			_ = b.Replace([]any{newPDB("web").PodDisruptionBudget, newPDB("db", named("db")).PodDisruptionBudget}, "1")
			if own, _, known := g.among(pods, wake); !known || len(own) != 1 || !poked(wake) {
				t.Fatalf("known: %t, own: %v", known, own)
			}
			before := reflect.ValueOf(g.own).Pointer()
			tc.happens(b)
			if got := poked(wake); got != tc.woken {
				t.Errorf("it was woken: %t", got)
			}
			if own, _, _ := g.among(pods, wake); len(own) != tc.guards {
				t.Errorf("its budgets are %v, want %d", own, tc.guards)
			}
			if anew := reflect.ValueOf(g.own).Pointer() != before; anew != tc.anew {
				t.Errorf("it was found out anew which guard its pods: %t", anew)
			}
		})
	}
}

// While the budgets are read for the first time, or anew, somebody may be awake: a budget must not be missing from what is
// then said to be all.
func TestABudgetIsNotMissingWhileTheyAreRead(t *testing.T) {
	for name, before := range map[string][]any{
		"for the first time":    nil,
		"anew, with other UIDs": {newPDB("web", func(b *policyv1.PodDisruptionBudget) { b.UID = "before" }).PodDisruptionBudget},
	} {
		wake := watchstore.NewSignal()
		l := newBudgetQueue(clocktesting.NewFakePassiveClock(noon))
		b := newBudgetWatch(l)
		g, pods := &guarding{budgetWatch: b}, []*corev1.Pod{newPod("a")}
		if before != nil {
			_ = b.Replace(before, "1")
		}
		g.among(pods, wake)
		looks := 0
		l.random = func() float64 { // asked for while the budget is observed
			looks++
			if own, _, known := g.among(pods, wake); !known || len(own) != 1 {
				t.Errorf("%s: known: %t, own: %v", name, known, own)
			}
			return 0
		}
		if _ = b.Replace([]any{newPDB("web").PodDisruptionBudget}, "2"); looks != 1 {
			t.Errorf("%s: nobody looked", name)
		}
	}
}

// Of an empty selector and of none, the texts are the same.
func TestABudgetThatSelectsAllIsNotOneThatSelectsNone(t *testing.T) {
	wake := watchstore.NewSignal()
	b := newBudgetWatch(newBudgetQueue(clocktesting.NewFakePassiveClock(noon)))
	g, pods := &guarding{budgetWatch: b}, []*corev1.Pod{newPod("a")}
	_ = b.Replace([]any{newPDB("web", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil }).PodDisruptionBudget}, "1")
	if own, _, _ := g.among(pods, wake); len(own) != 0 {
		t.Fatalf("own: %v", own)
	}
	_ = b.Update(newPDB("web", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} }).PodDisruptionBudget)
	if own, _, _ := g.among(pods, wake); len(own) != 1 || !poked(wake) {
		t.Errorf("own: %v", own)
	}
}

// A pod that has come may have budgets that nobody looked at before.
func TestAPodThatComesBringsItsBudgets(t *testing.T) {
	wake := watchstore.NewSignal()
	b := newBudgetWatch(newBudgetQueue(clocktesting.NewFakePassiveClock(noon)))
	g := &guarding{budgetWatch: b}
	_ = b.Replace([]any{newPDB("web").PodDisruptionBudget}, "1")
	if own, _, known := g.among(nil, wake); !known || len(own) != 0 {
		t.Fatalf("known: %t, own: %v", known, own)
	}
	if own, _, _ := g.among([]*corev1.Pod{newPod("a")}, wake); len(own) != 1 {
		t.Errorf("own: %v", own)
	}
	_ = b.Update(newPDB("web", func(b *policyv1.PodDisruptionBudget) { b.ResourceVersion = "2" }).PodDisruptionBudget)
	if !poked(wake) {
		t.Error("it was not woken")
	}
}

// Most Evictions of a cluster are of pods on other nodes.
func TestADrainIsWokenByTheEvictionsOfItsOwnPods(t *testing.T) {
	r := newRun(unconnected(t), Request{})
	_ = r.pods.Add(newPod("a"))
	poked(r.wake)
	for name, tc := range map[string]struct {
		pods  []types.UID
		woken bool
	}{
		"another's":          {[]types.UID{"uid-of-another"}, false},
		"its own, too":       {[]types.UID{"uid-of-another", newPod("a").UID}, true},
		"it may be anyone's": {nil, true},
	} {
		if r.wakeFor(tc.pods...); poked(r.wake) != tc.woken {
			t.Errorf("%s: it was not as wanted: woken %t", name, tc.woken)
		}
	}
}

// BenchmarkAnEvictionAmong100Drains is what one change of a budget costs all of 100 Drains of 20 pods each in a namespace
// of 200 budgets, of 10 pods each: whoever is woken gathers the facts and decides.
func BenchmarkAnEvictionAmong100Drains(b *testing.B) {
	const drains, podsEach, budgets = 100, 20, 200
	d := unconnected(b)
	labelled := func(app int) map[string]string { return map[string]string{"app": fmt.Sprint(app)} }
	watch := newBudgetWatch(d.queue)
	pdbs := make([]any, budgets)
	for i := range pdbs {
		pdbs[i] = newPDB(fmt.Sprint("b", i), exhausted, func(pdb *policyv1.PodDisruptionBudget) { pdb.Spec.Selector.MatchLabels = labelled(i) }).PodDisruptionBudget
	}
	_ = watch.Replace(pdbs, "1")
	runs := make([]*run, drains)
	for i := range runs {
		r := newRun(d, Request{NodeName: fmt.Sprint("node-", i)})
		r.budgets["default"] = &guarding{budgetWatch: watch}
		_ = r.node.Replace([]any{closedNode(r.req.NodeName)}, "1")
		pods := make([]any, podsEach)
		for j := range pods {
			pod := newPod(fmt.Sprint("pod-", i, "-", j))
			pod.UID, pod.Spec.NodeName, pod.Labels = types.UID(pod.Name), r.req.NodeName, labelled((i*podsEach+j)%budgets)
			pods[j] = pod
		}
		_ = r.pods.Replace(pods, "1")
		r.keep(decide(r.gather(b.Context())).notes)
		poked(r.wake)
		runs[i] = r
	}
	b.ReportAllocs()
	woken, changes := 0, 0
	for b.Loop() {
		changed := pdbs[changes%budgets].(*policyv1.PodDisruptionBudget).DeepCopy()
		changes++
		changed.ResourceVersion = fmt.Sprint(changes)
		_ = watch.Update(changed)
		for _, r := range runs {
			if poked(r.wake) {
				woken++
				r.keep(decide(r.gather(b.Context())).notes)
			}
		}
	}
	b.ReportMetric(float64(woken)/float64(changes), "woken/op")
}

func closedNode(name string) *corev1.Node {
	node := &corev1.Node{Spec: corev1.NodeSpec{
		Unschedulable: true, Taints: []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}},
	}}
	node.Name, node.UID = name, types.UID(name)
	return node
}
