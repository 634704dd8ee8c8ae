// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"

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

func refusal(pod *corev1.Pod, r Request) *obstacle {
	if r.RefuseUnmanaged && metav1.GetControllerOfNoCopy(pod) == nil {
		return &obstacle{reason: UnmanagedPod, message: "nobody would start the pod again, and the drain is asked to refuse " +
			"such pods, so nothing is evicted; delete the pod, or allow it in the parameters (unmanagedPods: Evict)"}
	}
	if !r.RefuseLocalStorage {
		return nil
	}
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir != nil {
			return &obstacle{LocalStorage, v.Name, fmt.Sprintf("the content of its emptyDir volume %s would be lost, and the "+
				"drain is asked to refuse such pods, so nothing is evicted; delete the pod, or allow it in the parameters "+
				"(localStorage: Evict)", v.Name)}
		}
	}
	return nil
}
