// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestWhichPodsDoNotRun(t *testing.T) {
	running := func(change func(*corev1.Pod)) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Phase, pod.Spec.NodeName = corev1.PodRunning, "one"
			if change != nil {
				change(pod)
			}
		}
	}
	ready := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
		}
	}
	ofDaemonSet := func(pod *corev1.Pod) {
		pod.OwnerReferences[0].Kind = "DaemonSet"
	}
	for name, tc := range map[string]struct {
		so   func(*corev1.Pod)
		want bool
	}{
		"it waits for room":                       {func(*corev1.Pod) {}, true},
		"its phase is not known yet":              {func(pod *corev1.Pod) { pod.Status.Phase = "" }, true},
		"it is about to begin on a node":          {func(pod *corev1.Pod) { pod.Spec.NodeName = "one" }, true},
		"it waits, and is of a DaemonSet":         {ofDaemonSet, true},
		"it waits, and runs to an end":            {func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }, true},
		"it is kept away from its node":           {func(pod *corev1.Pod) { pod.Labels = map[string]string{slipwayv1alpha1.KeptAway: "true"} }, false},
		"it is being deleted":                     {func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: epoch} }, false},
		"it has begun":                            {running(nil), true},
		"it is not Ready":                         {running(ready(corev1.ConditionFalse)), true},
		"nobody knows whether it is Ready":        {running(ready(corev1.ConditionUnknown)), true},
		"it is Ready":                             {running(ready(corev1.ConditionTrue)), false},
		"it is not Ready, and is of a DaemonSet":  {running(ofDaemonSet), false},
		"it is not Ready, and is static":          {running(func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }), false},
		"it is not Ready, and is being deleted":   {running(func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: epoch} }), false},
		"it is not Ready, and runs to an end":     {running(func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }), false},
		"it is not Ready, and is to run for ever": {running(func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyAlways }), true},
		"it has succeeded":                        {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, false},
		"it has failed":                           {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }, false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", CreationTimestamp: metav1.NewTime(epoch),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", UID: "web", Controller: new(true)}},
		}}
		pod.Status.Phase = corev1.PodPending
		tc.so(pod)
		want := NotReadyPod{}
		if tc.want {
			want = NotReadyPod{Name: "shop/web-1", Created: epoch, Node: pod.Spec.NodeName, Controller: "web"}
		}
		got, is := ReadNotReady(pod)
		if diff := cmp.Diff(want, got); diff != "" || is != tc.want {
			t.Errorf("%s: it does not run: %t; -want +got:\n%s", name, is, diff)
		}
	}
}
