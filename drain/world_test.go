// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

// world is a small cluster whose API server, budget controller, workloads and kubelets do one step when a test says so.
// It knows the rules by itself: nothing here asks the code under test what the server would do.
type world struct {
	clock    *testingclock.FakeClock
	version  int
	pods     []*corev1.Pod
	budgets  []*policyv1.PodDisruptionBudget
	replicas map[string]int // by app
	// accepted counts evictions by budget.
	accepted map[string]int

	podEvents    []func() // what the watches have not shown yet
	budgetEvents []func()
	drains       []*simulated
	// alone are the pods that EvictPod evicts wherever they are.
	alone map[types.UID]bool
	// disturbed are the processes that have seen somebody else evict under a budget, or were refused, by budget.
	disturbed map[string]map[*budgetQueue]bool
}

// simulated is one drain without its I/O: what the watches have shown it, its memory, and its evictions on their way.
type simulated struct {
	memory
	node    string
	queue   *budgetQueue // of its process
	pods    map[types.UID]*corev1.Pod
	budgets map[types.UID]*budget
	flying  []send
	basis   map[types.UID]string // of the last eviction of each pod
}

// newWorld has a process for each list of nodes, which drains them.
func newWorld(processes ...[]string) *world {
	w := &world{
		clock: testingclock.NewFakeClock(noon), replicas: map[string]int{}, accepted: map[string]int{},
		disturbed: map[string]map[*budgetQueue]bool{}, alone: map[types.UID]bool{},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, nodes := range processes {
		l := newBudgetQueue(w.clock)
		l.random = random.Float64
		for _, node := range nodes {
			w.drains = append(w.drains, &simulated{
				memory: newMemory(), node: node, queue: l, pods: map[types.UID]*corev1.Pod{}, budgets: map[types.UID]*budget{},
				basis: map[types.UID]string{},
			})
		}
	}
	return w
}

func (w *world) disturb(budget string, is func(*budgetQueue) bool) {
	if w.disturbed[budget] == nil {
		w.disturbed[budget] = map[*budgetQueue]bool{}
	}
	for _, d := range w.drains {
		if is(d.queue) {
			w.disturbed[budget][d.queue] = true
		}
	}
}

func (w *world) nextVersion() string {
	w.version++
	return fmt.Sprint(w.version)
}

// write stores a pod and lets the watches know, later.
func (w *world) write(pod *corev1.Pod) {
	pod = pod.DeepCopy()
	pod.ResourceVersion = w.nextVersion()
	w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p.UID == pod.UID })
	w.pods = append(w.pods, pod)
	w.podEvents = append(w.podEvents, func() { w.show(pod, func(d *simulated) { d.pods[pod.UID] = pod }) })
}

func (w *world) remove(pod *corev1.Pod) {
	w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p.UID == pod.UID })
	w.podEvents = append(w.podEvents, func() { w.show(pod, func(d *simulated) { delete(d.pods, pod.UID) }) })
}

func (w *world) show(pod *corev1.Pod, change func(*simulated)) {
	for _, d := range w.drains {
		if w.concerns(d, pod) {
			change(d)
		}
	}
}

// anywhere stands in the place of a node for the pods of EvictPod.
const anywhere = "anywhere"

func (w *world) concerns(d *simulated, pod *corev1.Pod) bool {
	return d.node == pod.Spec.NodeName || d.node == anywhere && w.alone[pod.UID]
}

func (w *world) writeBudget(pdb *policyv1.PodDisruptionBudget) {
	pdb = pdb.DeepCopy()
	pdb.ResourceVersion = w.nextVersion()
	w.budgets = slices.DeleteFunc(w.budgets, func(b *policyv1.PodDisruptionBudget) bool { return b.UID == pdb.UID })
	w.budgets = append(w.budgets, pdb)
	w.budgetEvents = append(w.budgetEvents, func() {
		b := newBudget(pdb.DeepCopy())
		told := map[*budgetQueue]bool{}
		for _, d := range w.drains {
			d.budgets[b.UID] = b
			if !told[d.queue] {
				told[d.queue] = true
				d.queue.observe(b)
			}
		}
	})
}

func (w *world) removeBudget(pdb *policyv1.PodDisruptionBudget) {
	w.budgets = slices.DeleteFunc(w.budgets, func(b *policyv1.PodDisruptionBudget) bool { return b.UID == pdb.UID })
	w.budgetEvents = append(w.budgetEvents, func() {
		for _, d := range w.drains {
			delete(d.budgets, pdb.UID)
		}
	})
}

func (w *world) start(app, node string, ready bool) {
	name := fmt.Sprintf("%s-%d", app, w.version)
	pod := newPod(name, func(p *corev1.Pod) { p.Labels["app"], p.Spec.NodeName = app, node })
	if !ready {
		unready(pod)
	}
	w.write(pod)
}

func (w *world) protect(name, app string, desired int32) {
	w.writeBudget(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DesiredHealthy: desired},
	})
	w.control(name)
}

// control is one step of the controller of budgets.
func (w *world) control(name string) {
	pdb := w.budget(name)
	if pdb == nil {
		return
	}
	pdb = pdb.DeepCopy()
	s := &pdb.Status
	healthy, matching := int32(0), int32(0)
	pending := map[string]metav1.Time{}
	for _, pod := range w.matching(pdb) {
		matching++
		entry, evicted := s.DisruptedPods[pod.Name]
		switch {
		case pod.DeletionTimestamp != nil:
		case evicted:
			pending[pod.Name] = entry
		case ready(pod):
			healthy++
		}
	}
	s.DisruptedPods, s.ExpectedPods, s.CurrentHealthy = pending, matching, healthy
	s.DisruptionsAllowed, s.ObservedGeneration = max(0, healthy-s.DesiredHealthy), pdb.Generation
	w.writeBudget(pdb)
}

// verdict is what the server says to an eviction of the pod under these budgets, in the words of its documentation.
func verdict(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) (allowed bool, charged *policyv1.PodDisruptionBudget) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
		return true, nil
	}
	if len(budgets) != 1 {
		return len(budgets) == 0, nil
	}
	b := budgets[0]
	if !ready(pod) && b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy {
		return true, nil
	}
	return b.Status.ObservedGeneration == b.Generation && b.Status.DisruptionsAllowed > 0, b
}

// serve is the server's answer to an eviction that a process has sent. Nil is somebody else.
func (w *world) serve(by *budgetQueue, sent *corev1.Pod) answer {
	pod := w.pod(sent.UID)
	if pod == nil {
		return answer{outcome: vanished}
	}
	var of []*policyv1.PodDisruptionBudget
	for _, b := range w.budgets {
		if b.Spec.Selector.MatchLabels["app"] == pod.Labels["app"] {
			of = append(of, b)
		}
	}
	allowed, charged := verdict(pod, of)
	switch {
	case !allowed && len(of) > 1:
		return answer{outcome: refused, refusal: &obstacle{reason: EvictionRefused}}
	case !allowed:
		w.disturb(of[0].Name, func(l *budgetQueue) bool { return l == by })
		return answer{outcome: budgetRefused, refusal: &obstacle{reason: BudgetExhausted}}
	}
	if charged != nil {
		c := charged.DeepCopy()
		c.Status.DisruptionsAllowed--
		if c.Status.DisruptedPods == nil {
			c.Status.DisruptedPods = map[string]metav1.Time{}
		}
		c.Status.DisruptedPods[pod.Name] = metav1.Time{Time: w.clock.Now()}
		w.writeBudget(c)
		w.accepted[c.Name]++
		// An eviction of one's own that was sent before the budget was known looks like somebody else's.
		known := by != nil && by.contention.by.of(newBudget(c)).ours[pod.Name]
		w.disturb(c.Name, func(l *budgetQueue) bool { return l != by || !known })
	}
	gone := pod.DeepCopy()
	gone.DeletionTimestamp = &metav1.Time{Time: w.clock.Now().Add(time.Second)}
	w.write(gone)
	return answer{outcome: accepted}
}

func (w *world) pod(uid types.UID) *corev1.Pod {
	for _, p := range w.pods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

func (w *world) budget(name string) *policyv1.PodDisruptionBudget {
	for _, b := range w.budgets {
		if b.Name == name {
			return b
		}
	}
	return nil
}

func (w *world) matching(pdb *policyv1.PodDisruptionBudget) []*corev1.Pod {
	var of []*corev1.Pod
	for _, p := range w.pods {
		if p.Labels["app"] == pdb.Spec.Selector.MatchLabels["app"] {
			of = append(of, p)
		}
	}
	return of
}

func ready(pod *corev1.Pod) bool {
	return len(pod.Status.Conditions) == 1 && pod.Status.Conditions[0].Status == corev1.ConditionTrue
}
