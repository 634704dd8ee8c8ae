// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	// Responder is the surge responder's name. As a label of a pod, "true" or "false" says
	// whether it is for that pod; of a namespace, for all its pods that do not say.
	Responder = "slipway.dev/surge"
	// Priority is the one that the Eviction API recommends to the controller that owns a
	// pod.
	Priority int32 = 10000

	// LabelReleased is "true" on each pod that has our marks.
	LabelReleased = "slipway.dev/surge-released"
	// AnnotationHash is the pod-template-hash that a released pod had.
	AnnotationHash = "slipway.dev/surge-template-hash"
	// AnnotationSince is when the pod was released (RFC 3339).
	AnnotationSince = "slipway.dev/surge-released-at"

	// AnnotationUnready is how many other pods of its ReplicaSet were not Ready then, and
	// need not be for it to go.
	AnnotationUnready = "slipway.dev/surge-unready"

	// LabelHash is the Deployment controller's label.
	LabelHash = appsv1.DefaultDeploymentUniqueLabelKey

	releasedSuffix = "-released"
)

// ReleasedHash is the label pod-template-hash of a released pod. No ReplicaSet selects it.
func ReleasedHash(hash string) string { return hash + releasedSuffix }

// Marked tells whether the pod has our marks: it is released, or returning.
func Marked(pod *corev1.Pod) bool { return pod.Annotations[AnnotationHash] != "" }

// isReleased tells whether the ReplicaSet does not select the pod any more, because of us.
// Marks that do not belong together were written by somebody else.
func isReleased(pod *corev1.Pod) bool {
	return Marked(pod) && pod.Labels[LabelHash] == ReleasedHash(pod.Annotations[AnnotationHash])
}

func isReturning(pod *corev1.Pod) bool { return Marked(pod) && !isReleased(pod) }

// releasedAt is when the pod was released. If the annotation cannot be read, that is long
// ago.
func releasedAt(pod *corev1.Pod) time.Time {
	at, err := time.Parse(time.RFC3339, pod.Annotations[AnnotationSince])
	if err != nil {
		return time.Time{}
	}
	return at
}

// unreadyBefore is how many pods were excused when this one was released.
func unreadyBefore(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[AnnotationUnready])
	if err != nil {
		return 0
	}
	return n
}

// DeploymentOwner is the owner of a pod that is a Deployment, but not its controller; nil
// if there is none.
func DeploymentOwner(pod *corev1.Pod) *metav1.OwnerReference {
	for i, o := range pod.OwnerReferences {
		if isController := o.Controller != nil && *o.Controller; !isController && o.Kind == "Deployment" && o.APIVersion == appsv1.SchemeGroupVersion.String() {
			return &pod.OwnerReferences[i]
		}
	}
	return nil
}

// ReplicaSetOf is the ReplicaSet that controls the pod; nil if none does.
func ReplicaSetOf(pod *corev1.Pod) *metav1.OwnerReference {
	if c := metav1.GetControllerOfNoCopy(pod); c != nil && c.Kind == "ReplicaSet" && c.APIVersion == appsv1.SchemeGroupVersion.String() {
		return c
	}
	return nil
}

// Selects tells whether the ReplicaSet would have a pod with our marks, were it given back.
func Selects(rs *appsv1.ReplicaSet, pod *corev1.Pod) bool {
	if !Marked(pod) || rs.Labels[LabelHash] != pod.Annotations[AnnotationHash] {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	restored := labels.Merge(pod.Labels, labels.Set{LabelHash: pod.Annotations[AnnotationHash]})
	return err == nil && selector.Matches(restored)
}

func isTerminating(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// readySince is when the pod became Ready; false if it is not.
func readySince(pod *corev1.Pod) (time.Time, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

func isReady(pod *corev1.Pod) bool {
	_, ready := readySince(pod)
	return ready && !isTerminating(pod)
}

// patience is how long a pod may be not Ready before that counts: a missed probe is soon
// made good.
const patience = 30 * time.Second

// unreadyUntil is when it counts that the pod is not Ready; false if the pod is Ready.
func unreadyUntil(pod *corev1.Pod) (time.Time, bool) {
	since, ready := readySince(pod)
	return since.Add(patience), !ready
}
