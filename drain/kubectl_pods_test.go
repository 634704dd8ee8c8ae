// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// drawPods makes up the pods of a cluster: most of them on node w1.
func drawPods(t *rapid.T) []*corev1.Pod {
	pods := rapid.SliceOfN(rapid.Custom(drawPod), 20, 40).Draw(t, "pods")
	for i, pod := range pods {
		pod.Name, pod.UID = fmt.Sprintf("p%d", i), types.UID(fmt.Sprint(i))
	}
	return pods
}

func drawPod(t *rapid.T) *corev1.Pod {
	pod := newPod("", phase(rapid.SampledFrom([]corev1.PodPhase{
		corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown,
	}).Draw(t, "phase")))
	pod.OwnerReferences = rapid.SliceOfN(rapid.Custom(drawOwner), 0, 3).Draw(t, "owners")
	pod.Spec.Volumes = rapid.SliceOfN(rapid.Custom(drawVolume), 0, 3).Draw(t, "volumes")
	pod.Spec.Priority = rapid.SampledFrom([]*int32{nil, new(int32(-1)), new(int32(0)), new(int32(2_000_001_000))}).Draw(t, "priority")
	oneIn := func(n int, what string) bool { return rapid.IntRange(1, n).Draw(t, what) == n }
	if oneIn(8, "mirror") {
		mirror(pod)
	}
	if oneIn(8, "config from a file") { // that of a static pod, which alone makes no mirror
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "kubernetes.io/config.source", "file")
	}
	if oneIn(6, "terminating") {
		endingAt(noon)(pod)
	}
	if oneIn(8, "finalizer") {
		finalizers("example.test/hold")(pod)
	}
	if oneIn(10, "another node") {
		pod.Spec.NodeName = "w2"
	}
	return pod
}

func drawOwner(t *rapid.T) metav1.OwnerReference {
	kinds := []string{
		"apps/v1 ReplicaSet", "apps/v1 StatefulSet", "batch/v1 Job", "v1 ReplicationController", "v1 Node",
		"argoproj.io/v1alpha1 Rollout", "example.test/v1 Queue", "apps/v1 DaemonSet", "apps/v1 DaemonSet", "apps/v1 DaemonSet", "apps/v1 DaemonSet",
		"apps/v1beta2 DaemonSet", "extensions/v1beta1 DaemonSet", "apps.kruise.io/v1alpha1 DaemonSet", "v1 DaemonSet",
		"apps/v1/x DaemonSet",
	}
	version, kind, _ := strings.Cut(rapid.SampledFrom(kinds).Draw(t, "kind"), " ")
	return metav1.OwnerReference{
		APIVersion: version, Kind: kind, UID: "owner",
		Name:       rapid.SampledFrom([]string{"there", "deleted"}).Draw(t, "name"),
		Controller: rapid.SampledFrom([]*bool{nil, new(false), new(true), new(true)}).Draw(t, "controls"),
	}
}

func drawVolume(t *rapid.T) corev1.Volume {
	return rapid.SampledFrom([]corev1.Volume{
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "memory", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
		{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var"}}},
		{Name: "claim", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}},
		{Name: "ephemeral", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
	}).Draw(t, "volume")
}

// counted puts pods with the same fate that have it for different reasons apart.
func counted(pod *corev1.Pod, kubectl fate) fate {
	owner, finished := metav1.GetControllerOf(pod), pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	emptyDir := false
	for _, v := range pod.Spec.Volumes {
		emptyDir = emptyDir || v.EmptyDir != nil
	}
	daemonSet := owner != nil && owner.Kind == "DaemonSet"
	switch {
	case kubectl.what == stays:
		return kubectl
	case isOrphan(pod):
		return fate{kubectl.what, "deviation: orphan"}
	case kubectl.what == barred && pod.DeletionTimestamp != nil:
		return fate{kubectl.what, "deviation: terminating"}
	case kubectl.what == barred:
		return kubectl
	case finished && daemonSet && owner.APIVersion == "apps/v1":
		return fate{leaves, "finished pod of a DaemonSet"}
	case finished && emptyDir:
		return fate{leaves, "finished pod with local storage"}
	case finished:
		return fate{leaves, "finished pod"}
	case daemonSet:
		return fate{leaves, "pod of another kind of DaemonSet"}
	case pod.DeletionTimestamp != nil:
		return fate{leaves, "terminating pod"}
	case emptyDir:
		return fate{leaves, "pod with local storage"}
	case owner == nil:
		return fate{leaves, "unmanaged pod"}
	default:
		return fate{leaves, "managed pod"}
	}
}
