// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deviate is what we do with a pod, given what kubectl does. This is the whole list of differences.
func deviate(pod *corev1.Pod, kubectl fate) fate {
	switch {
	case kubectl.why == ofAnotherNode:
		return kubectl
	case isOrphan(pod):
		return fate{stays, ofDaemonSet}
	case kubectl.what == barred && pod.DeletionTimestamp != nil:
		return fate{what: leaves}
	default:
		return kubectl
	}
}

// isOrphan tells pods that run although their DaemonSet does not exist.
func isOrphan(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == "apps/v1" && owner.Name == "deleted" &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// A DaemonSet that does not exist any more: kubectl asks for it, and takes its pods for unmanaged ones. A node may not
// read DaemonSets, and the garbage collector removes such pods whether the node is drained or not.
func TestDeviationTheGarbageCollectorRemovesOrphans(t *testing.T) {
	orphan := []*corev1.Pod{newPod("orphan", owned("apps/v1", "DaemonSet", "deleted"))}
	for _, flags := range allKubectlFlags {
		want := fate{barred, ofOrphan}
		if flags.force {
			want = fate{what: leaves}
		}
		if got := kubectlFates(t, orphan, flags)["orphan"]; got != want {
			t.Errorf("kubectl, %+v: got %v, want %v", flags, got, want)
		}
		if got := ourFates(t, orphan, flags.request())["orphan"]; got != (fate{stays, ofDaemonSet}) {
			t.Errorf("ours, %+v: got %v", flags, got)
		}
	}
}

// A pod that is being deleted already: kubectl refuses the whole node for its sake until it is gone, and has to be called
// again. Nobody can save what would be lost, so we only wait for its end.
func TestDeviationATerminatingPodIsRefusedNoMore(t *testing.T) {
	for name, tc := range map[string]struct {
		pod    *corev1.Pod
		reason Reason
	}{
		"without a controller": {newPod("p", endingAt(noon)), UnmanagedPod},
		"with local storage":   {newPod("p", endingAt(noon), ownedBy("apps/v1", "ReplicaSet", true), localStorage), LocalStorage},
	} {
		t.Run(name, func(t *testing.T) {
			pods, flags := []*corev1.Pod{tc.pod}, kubectlFlags{}
			if got := kubectlFates(t, pods, flags)["p"]; got != (fate{barred, string(tc.reason)}) {
				t.Errorf("kubectl: got %v", got)
			}
			if got := ourFates(t, pods, flags.request())["p"]; got != (fate{what: leaves}) {
				t.Errorf("ours: got %v", got)
			}
		})
	}
}

func owned(apiVersion, kind, name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: apiVersion, Kind: kind, Name: name, UID: "owner", Controller: new(true),
		})
	}
}
