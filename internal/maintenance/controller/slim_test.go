// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

func TestOfASlimPodTheSameIsRead(t *testing.T) {
	web := map[string]string{"app": "web"}
	for name, pod := range map[string]*corev1.Pod{
		"one that counts":                podAt("n1", "shop", web),
		"one without labels":             podAt("n1", "shop", nil),
		"one of a DaemonSet":             ofDaemonSet(podAt("n1", "shop", web)),
		"a static one":                   static(podAt("n1", "shop", web)),
		"one that has ended":             ended(podAt("n1", "shop", web)),
		"one that is on no node, as yet": podAt("", "shop", web),
		"one that is Ready":              withReady(podAt("n1", "shop", web), corev1.ConditionTrue),
		"one that is not Ready":          withReady(podAt("n1", "shop", web), corev1.ConditionFalse),
		"one that runs to its end":       runningToAnEnd(podAt("n1", "shop", web)),
		"one that is being deleted":      leaving(podAt("n1", "shop", web)),
	} {
		full, wanted := sharedpdbs.ReadPod(pod)
		if slim, slimWanted := sharedpdbs.ReadPod(slimPod(pod)); slim != full || slimWanted != wanted {
			t.Errorf("%s: of it is read %v (%t), and %v (%t) when it is slim", name, full, wanted, slim, slimWanted)
		}
		waits, is := maintenance.ReadNotReady(pod)
		if slim, slimIs := maintenance.ReadNotReady(slimPod(pod)); slim != waits || slimIs != is {
			t.Errorf("%s: it waits as %v (%t), and as %v (%t) when it is slim", name, waits, is, slim, slimIs)
		}
	}
}

func withReady(pod *corev1.Pod, status corev1.ConditionStatus) *corev1.Pod {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: status, Reason: "R"}}
	return pod
}

func runningToAnEnd(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	return pod
}

func leaving(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(2000, 0)}
	return pod
}

func podAt(node, namespace string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: labels, CreationTimestamp: metav1.Unix(1000, 0)},
		Spec:       corev1.PodSpec{NodeName: node},
	}
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
