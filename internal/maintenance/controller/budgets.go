// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/drain/watchstore"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

// budgets watches which PodDisruptionBudgets the pods of each node have, while it is asked for.
// It asks for no pass when that changes: it only says which of several nodes goes first.
type budgets struct {
	client  kubernetes.Interface
	changed func()

	mu      sync.Mutex
	pods    *watchstore.Store[sharedpdbs.Pod]
	budgets *watchstore.Store[sharedpdbs.Budget]
	stops   []func()
	grace   grace

	changes atomic.Int64
	// of are the budgets of each node, as they were after so many changes.
	of    map[string][]string
	after int64
}

// onNodes selects the pods that are on a node and have not ended: no budget keeps others.
const onNodes = "spec.nodeName!=,status.phase!=Failed,status.phase!=Succeeded"

func newBudgets(client kubernetes.Interface, changed func()) *budgets {
	return &budgets{client: client, changed: changed}
}

// watch watches them, or not, until ctx ends. It returns until when to wait for them; zero: they are
// known, are not wanted, or cannot be read.
func (b *budgets) watch(ctx context.Context, wanted bool, now time.Time) (until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case wanted && b.pods == nil:
		b.pods, b.budgets, b.of = newStore(sharedpdbs.ReadPod, b.counter()), newStore(sharedpdbs.ReadBudget, b.counter()), nil
		b.stops = []func(){
			startSlim(ctx, b.pods, podSource(b.client.CoreV1().Pods(metav1.NamespaceAll), onNodes, "")),
			b.budgets.Start(ctx, budgetSource(b.client)),
		}
		b.grace = grace{now.Add(patience)}
	case !wanted && b.pods != nil:
		for _, stop := range b.stops {
			stop()
		}
		b.pods, b.budgets, b.of = nil, nil, nil
	}
	if b.pods == nil {
		return time.Time{}
	}
	until, gaveUp := b.grace.wait(now, b.known())
	if gaveUp {
		log.FromContext(ctx).Error(errors.New("pods or PodDisruptionBudgets cannot be read"),
			"Maintenances continue without looking at which nodes share PodDisruptionBudgets", "remedy", grant)
	}
	return until
}

func budgetSource(client kubernetes.Interface) watchstore.Source {
	all := client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll)
	return watchstore.From("maintenances", &policyv1.PodDisruptionBudget{}, all.List, all.Watch)
}

// counter counts changes of a store, and asks for a pass after the first: then all is known.
func (b *budgets) counter() func() {
	var first sync.Once
	return func() {
		b.changes.Add(1)
		first.Do(b.changed)
	}
}

// known reports whether all of them are known. It is called with the lock.
func (b *budgets) known() bool { return b.pods != nil && b.pods.Synced() && b.budgets.Synced() }

// byNode returns the budgets of the pods of each node, as namespace/name; nil while they are not
// known. The caller must not change them.
func (b *budgets) byNode() map[string][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known() {
		return nil
	}
	if changes := b.changes.Load(); b.of == nil || b.after != changes {
		pods, _ := b.pods.List()
		all, _ := b.budgets.List()
		b.of, b.after = sharedpdbs.ByNode(pods, all), changes
	}
	return b.of
}

func (b *budgets) close() { b.watch(context.Background(), false, time.Time{}) }

// starving watches the pods that no node takes, and the PodDisruptionBudgets, while it is asked
// for: while drains of several nodes stand still. Nothing waits for it: until all is known, no
// deadlock is found.
type starving struct {
	client  kubernetes.Interface
	changed func()

	mu      sync.Mutex
	pods    *watchstore.Store[*corev1.Pod]
	budgets *watchstore.Store[statedBudget]
	stops   []func()
}

// onNoNode selects the pods that the scheduler has yet to find a node for.
const onNoNode = "spec.nodeName=,status.phase=Pending"

// statedBudget is a budget, and what it says of its pods.
type statedBudget struct {
	sharedpdbs.Budget
	status policyv1.PodDisruptionBudgetStatus
}

func newStarving(client kubernetes.Interface, changed func()) *starving {
	return &starving{client: client, changed: changed}
}

// watch watches them, or not, until ctx ends.
func (s *starving) watch(ctx context.Context, wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case wanted && s.pods == nil:
		s.pods, s.budgets = newStore(readUnscheduled, s.changed), newStore(readStated, s.changed)
		s.stops = []func(){
			s.pods.Start(ctx, podSource(s.client.CoreV1().Pods(metav1.NamespaceAll), onNoNode, "")),
			s.budgets.Start(ctx, budgetSource(s.client)),
		}
	case !wanted && s.pods != nil:
		for _, stop := range s.stops {
			stop()
		}
		s.pods, s.budgets = nil, nil
	}
}

// addTo adds to the facts what is known; nothing, until all is.
func (s *starving) addTo(facts *maintenance.Facts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pods == nil || !s.pods.Synced() || !s.budgets.Synced() {
		return
	}
	pods, _ := s.pods.List()
	all, _ := s.budgets.List()
	facts.Unscheduled, facts.BudgetStatuses = unscheduled(pods, all)
}

func (s *starving) close() { s.watch(context.Background(), false) }

// unscheduled are the pods with the budgets that select them, and what these say.
func unscheduled(pods []*corev1.Pod, all []statedBudget) ([]maintenance.Unscheduled, map[string]policyv1.PodDisruptionBudgetStatus) {
	plain, stated := make([]sharedpdbs.Budget, len(all)), map[string]policyv1.PodDisruptionBudgetStatus{}
	for i, b := range all {
		plain[i], stated[b.Key] = b.Budget, b.status
	}
	budgets, statuses := sharedpdbs.Sorted(plain), map[string]policyv1.PodDisruptionBudgetStatus{}
	var found []maintenance.Unscheduled
	for _, pod := range pods {
		u := maintenance.Unscheduled{Pod: pod, Budgets: budgets.Of(pod.Namespace, pod.Labels)}
		for _, key := range u.Budgets {
			statuses[key] = stated[key]
		}
		if len(u.Budgets) > 0 {
			found = append(found, u)
		}
	}
	slices.SortFunc(found, func(a, b maintenance.Unscheduled) int {
		return strings.Compare(a.Pod.Namespace+"/"+a.Pod.Name, b.Pod.Namespace+"/"+b.Pod.Name)
	})
	return found, statuses
}

// readUnscheduled keeps of a pod what it asks of nodes, and what the scheduler says.
func readUnscheduled(o metav1.Object) (slim *corev1.Pod, wanted bool) {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || sharedpdbs.BelongsToNode(pod) {
		return nil, false
	}
	slim = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels}}
	slim.Spec.NodeSelector, slim.Spec.Tolerations = pod.Spec.NodeSelector, pod.Spec.Tolerations
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		slim.Spec.Affinity = &corev1.Affinity{NodeAffinity: pod.Spec.Affinity.NodeAffinity}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			slim.Status.Conditions = []corev1.PodCondition{c}
		}
	}
	return slim, true
}

// readStated leaves out what the controller of budgets has yet to look at.
func readStated(o metav1.Object) (s statedBudget, wanted bool) {
	pdb, ok := o.(*policyv1.PodDisruptionBudget)
	if !ok || pdb.Status.ObservedGeneration != pdb.Generation {
		return statedBudget{}, false
	}
	b, wanted := sharedpdbs.ReadBudget(pdb)
	return statedBudget{b, policyv1.PodDisruptionBudgetStatus{
		ExpectedPods: pdb.Status.ExpectedPods, DesiredHealthy: pdb.Status.DesiredHealthy,
		CurrentHealthy: pdb.Status.CurrentHealthy, DisruptionsAllowed: pdb.Status.DisruptionsAllowed,
	}}, wanted
}
