// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// refuse finds the pods that whoever asked for the drain does not want evicted. While there is one, nothing is.
func refuse(leaving []leaver, r Request) map[types.UID]*obstacle {
	found := map[types.UID]*obstacle{}
	for _, l := range leaving {
		if isTerminating(l.pod) || isFinished(l.pod) {
			continue // there is nothing left to lose
		}
		if o := refusal(l.pod, r); o != nil {
			found[l.pod.UID] = o
		}
	}
	return found
}

// refusal asks for local storage first, as kubectl does: of two reasons, both name the same one.
func refusal(pod *corev1.Pod, r Request) *obstacle {
	if name, found := localVolume(pod); found && r.RefuseLocalStorage {
		return &obstacle{LocalStorage, name, LocalStorage.advise("the content of its emptyDir volume " + name + " would be lost, and the " +
			"drain is asked to refuse such pods, so nothing is evicted")}
	}
	if r.RefuseUnmanaged && isUnmanaged(pod) {
		return &obstacle{reason: UnmanagedPod, message: UnmanagedPod.advise("nobody would start the pod again, and the drain is " +
			"asked to refuse such pods, so nothing is evicted")}
	}
	return nil
}

// isUnmanaged tells whether nobody starts the pod again. A pod that a surge has released has its replacement already. A static
// pod is its kubelet's.
func isUnmanaged(pod *corev1.Pod) bool {
	return metav1.GetControllerOfNoCopy(pod) == nil && !Released(pod) && !isMirror(pod)
}

// annotationReleased is what a surge (slipway.dev/surge) leaves on a pod that it takes from its ReplicaSet.
const annotationReleased = "slipway.dev/surge-template-hash"

// Released tells whether a surge has taken the pod from its ReplicaSet, which has started another one in its place. The pod
// still belongs to its Deployment, which does not control it.
func Released(pod *corev1.Pod) bool {
	if _, annotated := pod.Annotations[annotationReleased]; !annotated {
		return false
	}
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == "Deployment" && o.APIVersion == appsv1.SchemeGroupVersion.String() && (o.Controller == nil || !*o.Controller)
	})
}

func localVolume(pod *corev1.Pod) (name string, found bool) {
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir != nil {
			return v.Name, true
		}
	}
	return "", false
}
