// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newPod returns a running, ready pod on node w1, with the label app=web.
func newPod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1",
			Labels: map[string]string{"app": "web"},
		},
		Spec: corev1.PodSpec{NodeName: "w1"},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func phase(p corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = p }
}

func unready(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
}

func endingAt(t time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: t} }
}

func priority(p int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &p }
}

func finalizers(names ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Finalizers = names }
}

func ownedBy(apiVersion, kind string, controller bool) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "owner", Controller: &controller,
		})
	}
}

func mirror(pod *corev1.Pod) {
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
}

// newPDB returns a budget for app=web that has been observed and allows one disruption of three pods.
func newPDB(name string, change ...func(*policyv1.PodDisruptionBudget)) *budget {
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Generation: 1,
		},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status: policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: 1, DisruptionsAllowed: 1, ExpectedPods: 3, CurrentHealthy: 3, DesiredHealthy: 2,
		},
	}
	for _, c := range change {
		c(pdb)
	}
	return newBudget(pdb)
}

// impossible is a budget that no health would satisfy.
func impossible(pdb *policyv1.PodDisruptionBudget) {
	pdb.Status.DisruptionsAllowed, pdb.Status.DesiredHealthy = 0, 3
}

func exhausted(pdb *policyv1.PodDisruptionBudget) {
	pdb.Status.DisruptionsAllowed, pdb.Status.CurrentHealthy = 0, 2
}

// calm are the facts of a cordoned node in an ordinary moment, with all its budgets known.
func calm(budgets ...*budget) facts {
	return facts{
		now:       noon,
		nodeName:  "w1",
		node:      nodeFacts{known: true, exists: true, unschedulable: true, tainted: true, ready: true},
		podsKnown: true,
		budgets:   map[string][]*budget{"default": budgets},
		reserved:  map[types.UID]time.Time{},

		responders: Responders{Known: true}, memory: newMemory(),
	}
}

// leavers are pods that leave as they do without any rule.
func leavers(pods ...*corev1.Pod) []leaver {
	var all []leaver
	for _, pod := range pods {
		all = append(all, leaver{pod, treatment{behavior: Evict}})
	}
	return all
}
