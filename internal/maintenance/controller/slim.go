// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// podShelf has something of the pods of the cluster. While the first of them arrive, all are in
// memory at a time, and then as slim as may be.
type podShelf[T any] struct{ *shelf[T] }

// Transformer implements cache.TransformingStore.
func (podShelf[T]) Transformer() toolscache.TransformFunc {
	return func(o any) (any, error) {
		if pod, ok := o.(*corev1.Pod); ok {
			return slimPod(pod), nil
		}
		return o, nil
	}
}

// slimPod is a pod with what sharedpdbs.ReadPod and maintenance.ReadNotReady read, and what a
// Reflector tells pods apart by.
func slimPod(pod *corev1.Pod) *corev1.Pod {
	slim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		Labels: pod.Labels, OwnerReferences: pod.OwnerReferences,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
	}}
	if mirror, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		slim.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: mirror}
	}
	slim.Spec.NodeName, slim.Status.Phase = pod.Spec.NodeName, pod.Status.Phase
	slim.Spec.RestartPolicy = pod.Spec.RestartPolicy
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			slim.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return slim
}

// slimList has nothing else of the pods of a page.
func slimList(list *corev1.PodList, err error) (*corev1.PodList, error) {
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	for i := range list.Items {
		list.Items[i] = *slimPod(&list.Items[i])
	}
	return list, nil
}
