// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

func TestWhichPodsFindNoNode(t *testing.T) {
	web := map[string]string{"app": "web"}
	named := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		pod := podAt("", "shop", web)
		pod.Name = name
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse},
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}
		pod.Spec.Containers = []corev1.Container{{Name: "large"}}
		pod.Spec.NodeSelector = map[string]string{"pool": "a"}
		change(pod)
		return pod
	}
	stated := func(b *policyv1.PodDisruptionBudget, observed int64) *policyv1.PodDisruptionBudget {
		b.Generation = 2
		b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: observed, ExpectedPods: 2, DesiredHealthy: 1, CurrentHealthy: 1}
		return b
	}
	var pods []*corev1.Pod
	for _, pod := range []*corev1.Pod{
		named("waits", func(*corev1.Pod) {}),
		named("is-on-a-node", func(p *corev1.Pod) { p.Spec.NodeName = "n" }),
		named("is-deleted", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }),
		named("of-a-daemonset", func(p *corev1.Pod) { ofDaemonSet(p) }),
		named("without-a-budget", func(p *corev1.Pod) { p.Namespace = "other" }),
	} {
		if slim, wanted := readUnscheduled(slimPod(pod)); wanted {
			pods = append(pods, slim)
		}
	}
	var budgets []budgetStatus
	for _, b := range []*policyv1.PodDisruptionBudget{
		stated(budgetFor("shop", "web", web), 2),
		stated(budgetFor("shop", "not-looked-at-yet", web), 1),
		stated(budgetFor("shop", "of-others", map[string]string{"app": "db"}), 2),
	} {
		if s, wanted := readStatus(b); wanted {
			budgets = append(budgets, s)
		}
	}
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "waits", Labels: web}}
	want.Spec.NodeSelector = map[string]string{"pool": "a"}
	want.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	got, statuses := unscheduled(pods, budgets)
	if diff := cmp.Diff([]maintenance.Unscheduled{{Pod: want, Budgets: []string{"shop/web"}}}, got); diff != "" {
		t.Errorf("pods that find no node (-want +got):\n%s", diff)
	}
	wantStatuses := map[string]policyv1.PodDisruptionBudgetStatus{
		"shop/web": {ExpectedPods: 2, DesiredHealthy: 1}, "shop/of-others": {ExpectedPods: 2, DesiredHealthy: 1},
	}
	if diff := cmp.Diff(wantStatuses, statuses); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
}
