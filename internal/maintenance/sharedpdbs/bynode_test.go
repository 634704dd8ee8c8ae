// SPDX-License-Identifier: Apache-2.0

package sharedpdbs

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhichBudgetsNodesHave(t *testing.T) {
	web, db := map[string]string{"app": "web"}, map[string]string{"app": "db", "tier": "data"}
	for name, tc := range map[string]struct {
		pods    []*corev1.Pod
		budgets []*policyv1.PodDisruptionBudget
		want    map[string][]string
	}{
		"a budget of pods on two nodes": {
			[]*corev1.Pod{podAt("n1", "shop", web), podAt("n2", "shop", web), podAt("n3", "shop", db)},
			[]*policyv1.PodDisruptionBudget{budgetFor("shop", "web", web)},
			map[string][]string{"n1": {"shop/web"}, "n2": {"shop/web"}},
		},
		"several budgets of a node, sorted, each once": {
			[]*corev1.Pod{podAt("n1", "shop", web), podAt("n1", "shop", web), podAt("n1", "shop", db)},
			[]*policyv1.PodDisruptionBudget{budgetFor("shop", "web", web), budgetFor("shop", "db", db)},
			map[string][]string{"n1": {"shop/db", "shop/web"}},
		},
		"two budgets of a pod": {
			[]*corev1.Pod{podAt("n1", "shop", db)},
			[]*policyv1.PodDisruptionBudget{budgetFor("shop", "data", map[string]string{"tier": "data"}), budgetFor("shop", "db", db)},
			map[string][]string{"n1": {"shop/data", "shop/db"}},
		},
		"a budget of another namespace": {
			[]*corev1.Pod{podAt("n1", "shop", web)},
			[]*policyv1.PodDisruptionBudget{budgetFor("other", "web", web)},
			map[string][]string{},
		},
		"a budget of all pods of its namespace, those without labels too": {
			[]*corev1.Pod{podAt("n1", "shop", nil), podAt("n2", "other", nil)},
			[]*policyv1.PodDisruptionBudget{budgetFor("shop", "all", map[string]string{})},
			map[string][]string{"n1": {"shop/all"}},
		},
		"a budget without a selector, which is for no pod": {
			[]*corev1.Pod{podAt("n1", "shop", web)},
			[]*policyv1.PodDisruptionBudget{budgetFor("shop", "none", nil)},
			map[string][]string{},
		},
		"a budget that the API server cannot read": {
			[]*corev1.Pod{podAt("n1", "shop", web)},
			[]*policyv1.PodDisruptionBudget{unreadableBudget()},
			map[string][]string{},
		},
		"a pod of a DaemonSet, which a drain leaves": {
			[]*corev1.Pod{ofDaemonSet(podAt("n1", "shop", web))},
			[]*policyv1.PodDisruptionBudget{budgetFor("shop", "web", web)},
			map[string][]string{},
		},
		"a static pod": {
			[]*corev1.Pod{static(podAt("n1", "shop", web))},
			[]*policyv1.PodDisruptionBudget{budgetFor("shop", "web", web)},
			map[string][]string{},
		},
		"a pod that has ended": {
			[]*corev1.Pod{ended(podAt("n1", "shop", web))},
			[]*policyv1.PodDisruptionBudget{budgetFor("shop", "web", web)},
			map[string][]string{},
		},
		"a pod that is on no node": {
			[]*corev1.Pod{podAt("", "shop", web)},
			[]*policyv1.PodDisruptionBudget{budgetFor("shop", "web", web)},
			map[string][]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []Pod
			for _, pod := range tc.pods {
				if read, wanted := ReadPod(pod); wanted {
					pods = append(pods, read)
				}
			}
			var budgets []Budget
			for _, b := range tc.budgets {
				if read, wanted := ReadBudget(b); wanted {
					budgets = append(budgets, read)
				}
			}
			if diff := cmp.Diff(tc.want, ByNode(pods, budgets)); diff != "" {
				t.Errorf("budgets of nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfManyBudgetsOfAPodTheFirstCount(t *testing.T) {
	web := map[string]string{"app": "web"}
	pod, _ := ReadPod(podAt("n1", "shop", web))
	var budgets []Budget
	var want []string
	for i := range 1000 {
		b, _ := ReadBudget(budgetFor("shop", fmt.Sprintf("web-%03d", 999-i), web))
		budgets = append(budgets, b)
	}
	for i := range most {
		want = append(want, fmt.Sprintf("shop/web-%03d", i))
	}
	if diff := cmp.Diff(map[string][]string{"n1": want}, ByNode([]Pod{pod}, budgets)); diff != "" {
		t.Errorf("budgets of nodes (-want +got):\n%s", diff)
	}
}

func podAt(node, namespace string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: labels}, Spec: corev1.PodSpec{NodeName: node}}
}

func ofDaemonSet(pod *corev1.Pod) *corev1.Pod {
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet", Name: "d", Controller: new(true),
	}}
	return pod
}

func static(pod *corev1.Pod) *corev1.Pod {
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "of the kubelet"}
	return pod
}

func ended(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Phase = corev1.PodSucceeded
	return pod
}

// budgetFor selects by labels; nil: it has no selector.
func budgetFor(namespace, name string, labels map[string]string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if labels != nil {
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	}
	return b
}

func unreadableBudget() *policyv1.PodDisruptionBudget {
	b := budgetFor("shop", "odd", nil)
	b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles"}}}
	return b
}
