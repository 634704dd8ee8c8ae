// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

// starving watches the pods that no node takes, and the disruption budgets, while it is asked
// for: while drains of several nodes stand still. Nothing waits for it: until all is known, no
// deadlock is found.
type starving struct {
	client  kubernetes.Interface
	changed func()

	mu      sync.Mutex
	pods    *shelf[*corev1.Pod]
	budgets *shelf[statedBudget]
	runs    []*filling
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
	case wanted && s.runs == nil:
		pods, budgets := s.client.CoreV1().Pods(metav1.NamespaceAll), s.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll)
		s.pods, s.budgets = newShelf(readUnscheduled, s.changed), newShelf(readStated, s.changed)
		s.runs = []*filling{
			fill(ctx, s.pods, &corev1.Pod{}, onNoNode, pods.List, pods.Watch),
			fill(ctx, s.budgets, &policyv1.PodDisruptionBudget{}, "", budgets.List, budgets.Watch),
		}
	case !wanted && s.runs != nil:
		for _, run := range s.runs {
			run.close()
		}
		s.pods, s.budgets, s.runs = nil, nil, nil
	}
}

// tell adds to the facts what is known; nothing, until all is.
func (s *starving) tell(facts *maintenance.Facts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs == nil || !s.pods.isFilled() || !s.budgets.isFilled() {
		return
	}
	pods, _ := s.pods.all()
	all, _ := s.budgets.all()
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
