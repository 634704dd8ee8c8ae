// SPDX-License-Identifier: Apache-2.0

package drain

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// filter keeps the pods that must leave. The verdicts are those of kubectl drain with --ignore-daemonsets,
// --delete-emptydir-data and --force.
func filter(pods []*corev1.Pod) []*corev1.Pod {
	var leaving []*corev1.Pod
	for _, pod := range pods {
		if mustLeave(pod) {
			leaving = append(leaving, pod)
		}
	}
	return leaving
}

func mustLeave(pod *corev1.Pod) bool {
	switch {
	case isMirror(pod):
		return false
	case isFinished(pod):
		return true // kubectl removes finished pods, also those of a DaemonSet
	default:
		return !hasDaemonSet(pod)
	}
}

// isMirror tells pods that the kubelet runs from a file or URL: evicting their image in the API stops nothing.
func isMirror(pod *corev1.Pod) bool {
	_, found := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return found
}

func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// hasDaemonSet tells pods that would come back to this node at once. Kind alone is not enough: other groups have a
// DaemonSet too, whose pods kubectl drain --force removes. Whether the DaemonSet still exists is not asked: if it does
// not, the garbage collector removes the pod.
func hasDaemonSet(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "DaemonSet" {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == appsv1.GroupName
}
