// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// clusters have workloads, staticClusters hardly any: there static pods get their turn.
const (
	clusters       = 300
	staticClusters = 100
)

// TestAPreviewSaysWhatADrainThenDoes generates clusters, asks for the preview, then lets the drain decide about the same
// cluster, with an API server, a controller of budgets, workloads and kubelets that know nothing of the preview. What
// became of each pod must be what the preview said.
func TestAPreviewSaysWhatADrainThenDoes(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(clusters + staticClusters) {
		nodes := []string{"w1"}
		if seed%4 == 3 && seed < clusters {
			nodes = append(nodes, "w2")
		}
		g := generate(seed, nodes...)
		if seed >= clusters {
			g = generateStatic(seed)
		}
		outlooks, err := Preview(g.snapshot(), noon)
		if err != nil {
			t.Fatal(err)
		}
		want := predicted(outlooks, seen)
		g.showAll()
		got := newActor(g).play()
		if len(nodes) > 1 { // which pod of an app goes first is a matter of chance
			want, got = byApp(want), byApp(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cluster %d (-preview +drain):\n%s", seed, diff)
		}
	}
	for what, n := range seen {
		t.Logf("%4d %s", n, what)
	}
	for _, what := range everyOutcome {
		if seen[what] < 5 {
			t.Errorf("%s has occurred %d times, so this has tested little", what, seen[what])
		}
	}
}

// everyOutcome is all that a preview can say, but the moments of an eviction.
var everyOutcome = []string{
	"Evict", "EvictLater", "EvictLater BudgetExhausted", "Delete BudgetExhausted", "Delete BudgetImpossible",
	"Delete BudgetNotObserved", "Delete BudgetSyncFailed", "Delete MultipleBudgets", "WaitCompleted WaitingForCompletion",
	"Recur PodRecurring", "Ending", "Skip PodSkipped", "Skip Static", "Skip DaemonSet", "Skip NotTargeted",
	"Blocked BudgetExhausted", "Blocked BudgetImpossible", "Blocked BudgetNotObserved", "Blocked BudgetSyncFailed",
	"Blocked MultipleBudgets", "Blocked RuleInvalid", "Blocked Terminating", "Blocked NodeNotReady", "Blocked UnmanagedPod",
	"Blocked LocalStorage", "TakeAway", "Skip StaticPodLeft", "Blocked StaticPodStays", "Behind", "Stuck NodeNotReady",
}

// predicted puts a preview into the words of outcomes.
func predicted(outlooks []Outlook, seen map[string]int) map[string]string {
	want := map[string]string{}
	for _, o := range outlooks {
		for _, p := range o.Pods {
			seen[strings.TrimSpace(fmt.Sprint(p.Verdict, " ", p.Reason, p.Exemption))]++
			want[p.Pod.Name] = outcomeOf(p)
		}
	}
	return want
}

func outcomeOf(p PodOutlook) string {
	switch p.Verdict {
	case EvictNow:
		return "evicted at once"
	case EvictLater:
		return "evicted later"
	case DeleteLater:
		return "deleted"
	case AwaitCompletion:
		return "completed"
	case TakeAway:
		return "taken away"
	case Ending:
		return "ended"
	case Stay:
		return strings.TrimSpace(fmt.Sprintf("left %s %s", p.Reason, p.By))
	case Behind:
		return "left"
	default:
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Verdict, p.Reason, p.By))
	}
}

func byApp(outcomes map[string]string) map[string]string {
	by := map[string][]string{}
	for _, pod := range slices.Sorted(maps.Keys(outcomes)) {
		app, _, _ := strings.Cut(pod, "-")
		by[app] = append(by[app], outcomes[pod])
	}
	counted := map[string]string{}
	for app, all := range by {
		slices.Sort(all)
		counted[app] = strings.Join(all, ", ")
	}
	return counted
}

// actor lets drains be, and notes what becomes of the pods that there were.
type actor struct {
	*generated
	found    []*corev1.Pod
	outcomes map[types.UID]string
	// calm: nothing has happened yet but evictions.
	calm     bool
	statuses map[string]Status
}

func newActor(g *generated) *actor {
	a := &actor{generated: g, outcomes: map[types.UID]string{}, calm: true, statuses: map[string]Status{}}
	for _, d := range g.drains {
		for _, pod := range d.pods {
			a.found = append(a.found, pod)
		}
	}
	return a
}

// play lets everything happen until nothing does any more for longer than any limit of time.
func (a *actor) play() map[string]string {
	for a.exhaust() || a.settle() || a.complete() || a.patience() {
		a.calm = false
	}
	got := map[string]string{}
	for _, pod := range a.found {
		got[pod.Name] = a.outcome(pod)
	}
	return got
}

// exhaust lets the drains send what they can, for as long as one of them might leave a budget to others.
func (a *actor) exhaust() (sent bool) {
	for idle := 0; idle < 15; idle++ {
		for _, d := range a.drains {
			if a.decide(d) {
				idle, sent = 0, true
			}
		}
		a.showAll()
		a.clock.Step(time.Second)
	}
	return sent
}

func (a *actor) decide(d *simulated) (sent bool) {
	p := decide(a.facts(d))
	d.keep(p.notes)
	a.statuses[d.node] = p.status
	sent = a.takeAway(p.status.Static)
	for _, s := range p.evict {
		if s.budget != nil && !d.queue.reserve(s.budget, s.pod.Name, watchstore.NewSignal()) {
			continue
		}
		sent = true
		d.sent(s)
		d.flying = append(d.flying, s)
		a.land(d, len(d.flying)-1, a.answer(d, s))
	}
	return sent
}

// takeAway is what somebody on the machine does, and its kubelet, if that works.
func (a *actor) takeAway(static []PodReference) (taken bool) {
	for _, s := range static {
		pod := a.pod(s.UID)
		if pod == nil || staticByName(nil, pod).Trouble != "" || !a.nodes[pod.Spec.NodeName].ready {
			continue
		}
		a.outcomes[s.UID] = "taken away"
		a.remove(pod)
		taken = true
	}
	return taken
}

func (a *actor) facts(d *simulated) facts {
	f := a.factsOf(d)
	f.request, f.node, f.ruled, f.rulesBad = a.requests[d.node], a.nodes[d.node], true, map[string]bool{}
	f.statics = staticsOf(&corev1.Node{}, f.pods, staticByName)
	f.budgets[darkness], f.rules = nil, map[string][]Rule{"default": a.rules}
	if len(a.dark) > 0 {
		f.rulesBad[darkness], f.reading = true, []obstacle{*unreadable(rulesOf(darkness), errDark)}
	}
	return f
}

// answer is what comes of an eviction or a deletion.
func (a *actor) answer(d *simulated, s send) answer {
	result, what := answer{outcome: accepted}, "deleted"
	switch s.by {
	case byEviction:
		if result = a.serve(d.queue, s.pod); result.outcome != accepted {
			return result
		}
		what = "evicted later"
		if a.calm {
			what = "evicted at once"
		}
	case byKill:
		what = ""
	case byDeletion:
	}
	if _, known := a.outcomes[s.pod.UID]; !known && what != "" {
		a.outcomes[s.pod.UID] = what
	}
	pod := a.pod(s.pod.UID).DeepCopy()
	grace := int64(30)
	if s.by == byKill {
		grace = 1
	}
	pod.DeletionTimestamp = &metav1.Time{Time: a.clock.Now().Add(time.Duration(grace) * time.Second)}
	pod.DeletionGracePeriodSeconds = &grace
	a.write(pod)
	a.restart(pod, s.by)
	return result
}

// restart starts a pod elsewhere in place of one that leaves. It is as ready as the one was.
func (a *actor) restart(old *corev1.Pod, by means) {
	owner := metav1.GetControllerOfNoCopy(old)
	if by == byKill || owner == nil || isFinished(old) {
		return
	}
	if owner.Kind == "DaemonSet" {
		return // it waits until the pod is gone
	}
	a.startLike(old, "w3")
}

func (a *actor) startLike(old *corev1.Pod, node string) {
	a.elsewhere++
	pod := newPod(fmt.Sprintf("%s-again-%d", old.Labels["app"], a.elsewhere))
	pod.Labels, pod.OwnerReferences, pod.Spec = old.Labels, old.OwnerReferences, *old.Spec.DeepCopy()
	pod.Namespace, pod.Status.Conditions, pod.Spec.NodeName = old.Namespace, old.Status.Conditions, node
	a.write(pod)
}

// settle lets the kubelets and the controller of budgets do their work, and tells whether a pod has ended.
func (a *actor) settle() (ended bool) {
	for _, pod := range slices.Clone(a.pods) {
		kept := !a.nodes[pod.Spec.NodeName].ready && !isFinished(pod) || len(pod.Finalizers) > 0
		if pod.DeletionTimestamp == nil || kept {
			continue
		}
		if _, known := a.outcomes[pod.UID]; !known {
			a.outcomes[pod.UID] = "ended"
		}
		a.remove(pod)
		if typeOf(pod) == PodTypeDaemonSet {
			a.startLike(pod, pod.Spec.NodeName)
		}
		ended = true
	}
	for _, b := range slices.Clone(a.budgets) {
		if !a.frozen[b.Name] {
			a.control(b.Name)
		}
	}
	a.showAll()
	return ended
}

// complete ends the pods that a drain says it waits for.
func (a *actor) complete() (ended bool) {
	for _, pod := range slices.Clone(a.pods) {
		if b := a.blocker(pod); b != nil && b.Reason == WaitingForCompletion && a.nodes[pod.Spec.NodeName].ready {
			a.outcomes[pod.UID] = "completed"
			done := pod.DeepCopy()
			phase(corev1.PodSucceeded)(done)
			unready(done)
			a.write(done)
			ended = true
		}
	}
	a.showAll()
	return ended
}

// patience waits longer than any limit of time, and tells whether something has happened then.
func (a *actor) patience() bool {
	a.calm = false
	for range 60 {
		a.clock.Step(3 * time.Minute)
		if a.exhaust() || a.complete() {
			return true
		}
	}
	return false
}

func (a *actor) blocker(pod *corev1.Pod) *Blocker {
	s := a.statuses[pod.Spec.NodeName]
	for i, b := range s.Blockers {
		if b.Pod.Name == pod.Name && b.Pod.Namespace == pod.Namespace {
			return &s.Blockers[i]
		}
	}
	return nil
}

// outcome is what has become of a pod, as the cluster and the last status of the drain show it.
func (a *actor) outcome(pod *corev1.Pod) string {
	left := a.statuses[pod.Spec.NodeName].Left
	if typeOf(pod) == PodTypeDaemonSet && a.outcomes[pod.UID] != "" {
		for _, b := range left {
			if b.Reason == PodRecurring && strings.HasSuffix(b.By, "/"+pod.Labels["app"]) {
				return fmt.Sprintf("Recur %s %s", b.Reason, b.By)
			}
		}
	}
	if what := a.outcomes[pod.UID]; what != "" && a.pod(pod.UID) == nil {
		return what
	}
	if b := a.blocker(pod); b != nil {
		verdict := Blocked
		if a.outcomes[pod.UID] != "" {
			verdict = Stuck
		}
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", verdict, b.Reason, b.By))
	}
	if pod.Namespace == darkness {
		for _, b := range a.statuses[pod.Spec.NodeName].Blockers {
			if b.Reason == RuleInvalid {
				return fmt.Sprintf("Blocked %s %s", b.Reason, b.By)
			}
		}
	}
	for _, b := range left {
		if b.Pod.Name == pod.Name {
			return strings.TrimSpace(fmt.Sprintf("left %s %s", b.Reason, b.By))
		}
	}
	return "left"
}
