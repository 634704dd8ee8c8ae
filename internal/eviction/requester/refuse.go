// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// refuse says why a pod that the event names is not asked for, whatever else it is; nil if
// nothing is against it. This is what keeps a node from having pods evicted that are not
// its own.
func refuse(e *lifecyclev1alpha1.LifecycleEvent, named lifecyclev1alpha1.PodReference, pod *corev1.Pod) *Refuse {
	refused := func(lies bool, why string) *Refuse {
		return &Refuse{Event: e, Pod: named, Why: why, Lies: lies}
	}
	switch {
	case pod == nil || pod.UID != named.UID:
		return refused(false, "it is gone")
	case pod.Spec.NodeName == "":
		return refused(true, "it is on no node")
	case pod.Spec.NodeName != e.Spec.BindingNode:
		return refused(true, fmt.Sprintf("it is on node %s", pod.Spec.NodeName))
	case isMirror(pod):
		return refused(true, "it is a static pod, which the kubelet would start again")
	case isDaemon(pod):
		return refused(true, "it is of a DaemonSet, which would start it again")
	case pod.DeletionTimestamp != nil:
		return refused(false, "it is being deleted")
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		return refused(false, "it has ended")
	default:
		return nil
	}
}

// maxUID is how long a UID may be, in bytes; one has 36.
const maxUID = 128

// isPod says whether there can be a pod that is named so. What is no name would be a path of
// the API server that is somebody else's.
func isPod(p lifecyclev1alpha1.PodReference) bool {
	return len(validation.IsDNS1123Label(p.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(p.Name)) == 0 &&
		p.UID != "" && len(p.UID) <= maxUID
}

func isMirror(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}

func isDaemon(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String()
}
