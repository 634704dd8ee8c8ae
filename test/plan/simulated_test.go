// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
)

const clusters = 200

// everyVerdict is all that a plan says of pods.
var everyVerdict = []string{
	"Evict", "EvictLater", "EvictLater BudgetExhausted", "Delete BudgetExhausted", "Delete BudgetImpossible",
	"Delete BudgetNotObserved", "Delete BudgetSyncFailed", "Delete MultipleBudgets", "WaitCompleted WaitingForCompletion",
	"Recur PodRecurring", "Ending", "Skip PodSkipped", "Skip Static", "Skip DaemonSet", "Skip NotTargeted",
	"Blocked BudgetExhausted", "Blocked BudgetImpossible", "Blocked BudgetNotObserved", "Blocked BudgetSyncFailed",
	"Blocked MultipleBudgets", "Blocked RuleInvalid", "Blocked Terminating", "Blocked NodeNotReady", "Blocked UnmanagedPod",
	"Blocked LocalStorage", "Blocked WaitingForCompletion", "Behind", "Stuck NodeNotReady", nowhere,
}

// What a plan says would be evicted, deleted, waited for, left and blocked, and why, is what a
// Drainer then does on a simulated API.
func TestWhatAPlanSaysOfAGeneratedClusterIsWhatADrainDoes(t *testing.T) {
	said := map[string]int{}
	for seed := range uint64(clusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { foretellAndDrain(t, seed, said) })
		})
	}
	wantAllSaid(t, said, 3)
}

func foretellAndDrain(t *testing.T, seed uint64, said map[string]int) {
	g := generate(newSimulation(t), seed)
	prediction, err := plan.Plan(g.facts())
	if err != nil {
		t.Fatal(err)
	}
	before := maps.Clone(g.pods)
	fates, drained := g.drain(before)
	g.compare(prediction, fates, drained)
	for _, n := range prediction.Nodes {
		for _, p := range n.Pods {
			said[verdictOf(p)]++
		}
	}
	if prediction.Replacements.Nowhere > 0 {
		said[nowhere]++
	}
}

// nowhere is said of a cluster where a replacement fits nowhere.
const nowhere = "Nowhere"

// wantAllSaid wants each verdict, with each reason, to have been said, and no other.
func wantAllSaid(t *testing.T, said map[string]int, often int) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(said)) {
		t.Logf("%4d %s", said[what], what)
		if !slices.Contains(everyVerdict, what) {
			t.Errorf("%q was said, and is not in the list of all that is", what)
		}
	}
	for _, what := range everyVerdict {
		if said[what] < often {
			t.Errorf("%q was said %d times, so this has tested little", what, said[what])
		}
	}
}

func (g *generated) compare(prediction plan.Prediction, fates map[string]string, drained map[string]bool) {
	want, steps := map[string]string{}, map[string]int{}
	for _, n := range prediction.Nodes {
		blocks := false
		for _, p := range n.Pods {
			want[p.Name], steps[p.Name] = foretold(p), p.Step
			blocks = blocks || p.Blocks()
		}
		if drained[n.Name] == blocks {
			g.t.Errorf("would something block %s? %t; it was drained: %t", n.Name, blocks, drained[n.Name])
		}
	}
	if len(g.draining) > 1 {
		want, fates = byApp(want), byApp(fates)
	} else {
		g.wantOrder(steps)
	}
	if diff := cmp.Diff(want, fates); diff != "" {
		g.t.Errorf("(-plan +drain):\n%s", diff)
	}
}

// wantOrder wants evictions in the order of the steps. Where pods have a time limit, later
// steps do not wait for them for longer.
func (g *generated) wantOrder(steps map[string]int) {
	limited := g.requests["w1"].PodTimeout > 0 || slices.ContainsFunc(g.rules, func(r drain.Rule) bool { return r.Deadline > 0 })
	last := 0
	for _, uid := range g.evictions {
		_, name, _ := strings.Cut(string(uid), "-")
		step, found := steps[name]
		if found && step < last && !limited {
			g.t.Errorf("%s of step %d left after one of step %d", name, step, last)
		}
		last = max(last, step)
	}
}

// facts are what somebody reads who wants to know beforehand.
func (g *generated) facts() plan.Facts {
	f := plan.Facts{
		Now: time.Now(), Namespaces: map[string]labels.Set{metav1.NamespaceDefault: nil, dark: nil},
		Drains: drain.Snapshot{
			Budgets: map[string][]*policyv1.PodDisruptionBudget{}, Rules: map[string][]drain.Rule{metav1.NamespaceDefault: g.rules},
			OwnNamespace: "slipway-system",
		},
	}
	if g.dark {
		f.Drains.BadRules = map[string]error{dark: errDark}
	}
	for _, b := range g.budgets {
		f.Drains.Budgets[b.Namespace] = append(f.Drains.Budgets[b.Namespace], b.DeepCopy())
	}
	for _, pod := range g.pods {
		f.Pods = append(f.Pods, pod.DeepCopy())
	}
	for _, name := range slices.Sorted(maps.Keys(g.nodes)) {
		f.Nodes = append(f.Nodes, g.nodes[name].DeepCopy())
	}
	for _, name := range g.draining {
		f.Drains.Nodes = append(f.Drains.Nodes, drain.NodeSnapshot{Node: g.nodes[name].DeepCopy(), Pods: f.Pods, Request: g.requests[name]})
	}
	return f
}

var errDark = fmt.Errorf("%w: it is dark", drain.ErrBadRule)

// Follow is the reader of rules.
func (g *generated) Follow(ctx context.Context, namespace string, tell func([]drain.Rule, error)) {
	if namespace == dark {
		tell(nil, errDark)
	} else {
		tell(g.rules, nil)
	}
	<-ctx.Done()
}

// longEnough is longer than all limits of time in a generated cluster one after the other.
const longEnough = 4 * time.Hour

// drain drains the nodes, side by side, until they are drained or nothing happens any more,
// and gives the fates of the pods that there were.
func (g *generated) drain(before map[types.UID]*corev1.Pod) (fates map[string]string, drained map[string]bool) {
	drainer, err := drain.New(drain.Config{Pods: g.CoreV1(), Budgets: g.PolicyV1(), Rules: g, OwnNamespace: "slipway-system"})
	if err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	for _, name := range g.draining {
		g.cordon(name)
	}
	for uid, pod := range before {
		if pod.DeletionTimestamp != nil {
			g.after(10*time.Second, func() { g.endContainers(uid) })
		}
	}
	g.mu.Unlock()
	ctx, cancel := context.WithCancel(g.t.Context())
	var mu sync.Mutex
	var running sync.WaitGroup
	statuses := map[string]drain.Status{}
	drained = map[string]bool{}
	for _, name := range g.draining {
		running.Go(func() {
			err := drainer.Drain(ctx, g.requests[name], func(s drain.Status) {
				mu.Lock()
				defer mu.Unlock()
				statuses[name] = s
				g.completeAwaited(s)
			})
			if err != nil && !errors.Is(err, context.Canceled) {
				g.t.Errorf("drain %s: %v", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			drained[name] = err == nil
		})
	}
	<-time.After(longEnough)
	synctest.Wait()
	fates = map[string]string{}
	mu.Lock()
	g.mu.Lock()
	for _, pod := range before {
		if slices.Contains(g.draining, pod.Spec.NodeName) {
			fates[pod.Name] = g.fate(pod, statuses[pod.Spec.NodeName])
		}
	}
	g.mu.Unlock()
	mu.Unlock()
	cancel()
	running.Wait()
	return fates, drained
}

func (g *generated) cordon(name string) {
	n := g.nodes[name].DeepCopy()
	n.Spec.Unschedulable = true
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	g.store(n)
}

// completeAwaited ends pods that a drain waits for, in a minute.
func (g *generated) completeAwaited(s drain.Status) {
	for _, b := range s.Blockers {
		if b.Reason == drain.WaitingForCompletion {
			g.after(time.Minute, func() { g.complete(b.Pod.Namespace, b.Pod.Name) })
		}
	}
}

// fate is what has become of a pod, as the server and the last status of the drain show it.
func (g *generated) fate(pod *corev1.Pod, s drain.Status) string {
	done, gone := g.fates[pod.UID], g.pods[pod.UID] == nil
	owner := metav1.GetControllerOf(pod)
	for _, b := range s.Left {
		if done != "" && b.Reason == drain.PodRecurring && owner != nil && strings.HasSuffix(b.By, "/"+owner.Name) {
			return recurs
		}
		if b.Pod.Name == pod.Name && done == "" {
			return because(left, b.Reason, b.By)
		}
	}
	if gone {
		return done
	}
	for _, b := range s.Blockers {
		if b.Pod.Name == pod.Name && done != "" {
			return because("evicted and stuck", b.Reason, b.By)
		}
		if b.Pod.Name == pod.Name || b.Reason == drain.RuleInvalid && pod.Namespace == dark && b.Pod.Name == "" {
			return because("blocked", b.Reason, b.By)
		}
	}
	if done != "" {
		return done + ", and still there"
	}
	return left
}
