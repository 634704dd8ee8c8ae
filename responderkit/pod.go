// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// toEviction returns the description of an Eviction for its run.
func toEviction(e *evictionv1alpha1.Eviction, pods coreclient.PodsGetter) Eviction {
	target := e.Spec.Target.Pod
	told := Eviction{Namespace: e.Namespace, Name: e.Name, UID: e.UID, PodName: target.Name, PodUID: target.UID}
	told.ReadPod = func(ctx context.Context) (*corev1.Pod, error) { return readPod(ctx, told, pods) }
	return told
}

func readPod(ctx context.Context, e Eviction, pods coreclient.PodsGetter) (*corev1.Pod, error) {
	pod, err := pods.Pods(e.Namespace).Get(ctx, e.PodName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: there is no pod %s/%s", ErrPodGone, e.Namespace, e.PodName)
	case err != nil:
		return nil, fmt.Errorf("read pod %s/%s: %w", e.Namespace, e.PodName, err)
	case pod.UID != e.PodUID:
		return nil, fmt.Errorf("%w: pod %s/%s was replaced by a pod with UID %s instead of %s", ErrPodGone, e.Namespace, e.PodName, pod.UID, e.PodUID)
	}
	return pod, nil
}
