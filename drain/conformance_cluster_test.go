// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/slipway-k8s/slipway/drain"
)

// TestTheServerDecidesAsWeDo makes up pods and budgets in every state, asks the server to evict each pod as a dry run,
// and compares its answer with ours. The controllers are stopped, or they would put the made-up states right, and the
// pods are on a node that does not exist, so that nobody runs them.
func TestTheServerDecidesAsWeDo(t *testing.T) {
	s := newScene(t, 0)
	s.component(t, "stop", "kube-controller-manager")
	defer s.component(t, "start", "kube-controller-manager")
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for i := range 160 {
		pod := s.madeUpPod(random, i)
		budgets := []int{0, 1, 1, 1, 1, 2}
		for b := range budgets[random.IntN(len(budgets))] {
			s.madeUpBudget(random, pod.Name, b)
		}
		pdbs, err := s.admin.PolicyV1().PodDisruptionBudgets(s.namespace).List(s.ctx, metav1.ListOptions{LabelSelector: "for=" + pod.Name})
		s.must(err)

		err = s.dryEvict(pod)
		ok, reason := drain.Admits(pod, pdbs.Items)
		if ok != (err == nil) {
			t.Errorf("we: %t (%s), the server: %v\npod %+v\nbudgets %+v", ok, reason, err, pod.Status, pdbs.Items)
		}
		if several := reason == drain.MultipleBudgets; several != (err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown) {
			t.Errorf("several budgets: we %t, the server: %v", several, err)
		}
		seen[fmt.Sprintf("%t %s", ok, reason)]++
		for _, pdb := range pdbs.Items {
			s.must(s.admin.PolicyV1().PodDisruptionBudgets(s.namespace).Delete(s.ctx, pdb.Name, metav1.DeleteOptions{}))
		}
		s.must(s.admin.CoreV1().Pods(s.namespace).Delete(s.ctx, pod.Name, *metav1.NewDeleteOptions(0)))
	}
	t.Logf("verdicts: %v", seen)
	for _, verdict := range []string{"true ", "false MultipleBudgets", "false BudgetExhausted", "false BudgetImpossible", "false BudgetNotObserved", "false BudgetSyncFailed"} {
		if seen[verdict] < 5 {
			t.Errorf("verdict %q was reached %d times only", verdict, seen[verdict])
		}
	}
}

// dryEvict asks once: the ready-made method of the client would ask ten times, at intervals of ten seconds, where the
// budget has not been observed.
func (s *scene) dryEvict(pod *corev1.Pod) error {
	return s.admin.CoreV1().RESTClient().Post().Namespace(s.namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		MaxRetries(0).Body(&policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
	}).Do(s.ctx).Error()
}

func (s *scene) madeUpPod(random *rand.Rand, i int) *corev1.Pod {
	s.t.Helper()
	name := fmt.Sprintf("pod-%d", i)
	pod := s.create("nowhere", name, labelled(name))
	phases := []corev1.PodPhase{
		corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning,
		corev1.PodUnknown, corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed,
	}
	pod.Status.Phase = phases[random.IntN(len(phases))]
	switch random.IntN(5) {
	case 0, 1, 2:
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	case 3:
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	}
	pod, err := s.admin.CoreV1().Pods(s.namespace).UpdateStatus(s.ctx, pod, metav1.UpdateOptions{})
	s.must(err)
	if random.IntN(8) == 0 {
		s.must(s.admin.CoreV1().Pods(s.namespace).Delete(s.ctx, name, metav1.DeleteOptions{}))
		if terminating := s.getPod(name); terminating != nil {
			return terminating
		}
		return s.madeUpPod(random, i) // it had finished, and went at once
	}
	return pod
}

func (s *scene) madeUpBudget(random *rand.Rand, pod string, i int) {
	s.t.Helper()
	budgets := s.admin.PolicyV1().PodDisruptionBudgets(s.namespace)
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", pod, i), Labels: map[string]string{"for": pod}},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod}},
		},
	}
	if random.IntN(8) == 0 {
		pdb.Spec.Selector.MatchLabels["app"] = "another"
	}
	policies := []*policyv1.UnhealthyPodEvictionPolicyType{nil, ptr.To(policyv1.IfHealthyBudget), ptr.To(policyv1.AlwaysAllow)}
	pdb.Spec.UnhealthyPodEvictionPolicy = policies[random.IntN(len(policies))]
	pdb, err := budgets.Create(s.ctx, pdb, metav1.CreateOptions{})
	s.must(err)
	pdb.Status = policyv1.PodDisruptionBudgetStatus{
		DisruptionsAllowed: max(0, random.Int32N(4)-2),
		CurrentHealthy:     random.Int32N(4),
		DesiredHealthy:     random.Int32N(4),
		ExpectedPods:       random.Int32N(5),
	}
	if random.IntN(5) > 0 {
		pdb.Status.ObservedGeneration = pdb.Generation
	}
	if random.IntN(4) == 0 {
		pdb.Status.Conditions = []metav1.Condition{{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
			LastTransitionTime: metav1.Now(),
		}}
	}
	_, err = budgets.UpdateStatus(s.ctx, pdb, metav1.UpdateOptions{})
	s.must(err)
}
