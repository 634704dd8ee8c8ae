// SPDX-License-Identifier: Apache-2.0

package drain

import (
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
	if r.RefuseUnmanaged && metav1.GetControllerOfNoCopy(pod) == nil {
		return &obstacle{reason: UnmanagedPod, message: UnmanagedPod.advise("nobody would start the pod again, and the drain is " +
			"asked to refuse such pods, so nothing is evicted")}
	}
	return nil
}

func localVolume(pod *corev1.Pod) (name string, found bool) {
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir != nil {
			return v.Name, true
		}
	}
	return "", false
}
