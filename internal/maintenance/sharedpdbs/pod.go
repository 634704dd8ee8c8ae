// SPDX-License-Identifier: Apache-2.0

package sharedpdbs

import (
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Pod is what counts of a pod: its node, and what budgets select by. Both are kept once for all
// pods that have the same, so that a pod costs two pointers and its entry in whatever has it,
// about 150 bytes: 150,000 pods, the most that Kubernetes is made for, 22 MB, and some more for
// those whose labels no other has, as with StatefulSets and Jobs.
type Pod struct {
	node     unique.Handle[string]
	labelled unique.Handle[labelled]
}

// labelled is what pods of a workload have in common.
type labelled struct{ namespace, labels string }

// ReadPod reads a pod that a budget can keep on its node: not one that belongs there, or has
// ended.
func ReadPod(o metav1.Object) (p Pod, wanted bool) {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || BelongsToNode(pod) {
		return Pod{}, false
	}
	return Pod{
		node:     unique.Make(pod.Spec.NodeName),
		labelled: unique.Make(labelled{pod.Namespace, labels.Set(pod.Labels).String()}),
	}, true
}

// BelongsToNode says whether a pod is one of a DaemonSet, or a static one, as those of a
// control plane are.
func BelongsToNode(pod *corev1.Pod) bool {
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String()
}
