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
	// Responder is the surge responder's name. As a label of a pod, "true" or "false" switches it on or off for that pod;
	// as a label of a namespace, for all its pods without that label.
	Responder = "slipway.dev/surge"
	// Priority is the recommendation of the Eviction API for the controller that owns a pod.
	Priority int32 = 10000

	// LabelReleased is "true" on each marked pod.
	LabelReleased = "slipway.dev/surge-released"
	// AnnotationHash is the pod-template-hash that a released pod had.
	AnnotationHash = "slipway.dev/surge-template-hash"
	// AnnotationSince is the time of the release (RFC 3339).
	AnnotationSince = "slipway.dev/surge-released-at"

	// AnnotationUnready is the number of other pods of its ReplicaSet that were not Ready then, and need not become
	// Ready before its eviction.
	AnnotationUnready = "slipway.dev/surge-unready"

	// LabelHash is the Deployment controller's label.
	LabelHash = appsv1.DefaultDeploymentUniqueLabelKey

	releasedSuffix = "-released"
)

// Itself returns the responder as a pod would name it.
func Itself() corev1.EvictionResponder {
	return corev1.EvictionResponder{Name: Responder, Priority: new(Priority)}
}

// IsCandidate reports whether a pod looks like a Deployment's: that is enough before its run.
func IsCandidate(pod *corev1.Pod) bool {
	return ReplicaSetOf(pod) != nil && pod.Labels[LabelHash] != "" || Marked(pod)
}

// OptIn returns the value of the label of a pod or a Namespace. said is false unless it is "true" or "false".
func OptIn(labels map[string]string) (wanted, said bool) {
	value := labels[Responder]
	return value == "true", value == "true" || value == "false"
}

// ReleasedHash returns the label pod-template-hash of a released pod. No ReplicaSet selects it.
func ReleasedHash(hash string) string { return hash + releasedSuffix }

// Marked reports whether the pod has the marks of a release: it is released, or returning.
func Marked(pod *corev1.Pod) bool { return pod.Annotations[AnnotationHash] != "" }

// isReleased reports whether the pod was removed from its ReplicaSet. Inconsistent marks are from a third party.
func isReleased(pod *corev1.Pod) bool {
	return Marked(pod) && pod.Labels[LabelHash] == ReleasedHash(pod.Annotations[AnnotationHash])
}

func isReturning(pod *corev1.Pod) bool { return Marked(pod) && !isReleased(pod) }

// releasedAt returns when the pod was released: long ago if the annotation is invalid.
func releasedAt(pod *corev1.Pod) time.Time {
	at, err := time.Parse(time.RFC3339, pod.Annotations[AnnotationSince])
	if err != nil {
		return time.Time{}
	}
	return at
}

// unreadyBefore returns how many pods were excused when this one was released.
func unreadyBefore(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[AnnotationUnready])
	if err != nil {
		return 0
	}
	return n
}

// DeploymentOwner returns the owner of a pod that is a Deployment but not its controller; nil if there is none.
func DeploymentOwner(pod *corev1.Pod) *metav1.OwnerReference {
	for i, o := range pod.OwnerReferences {
		if isController := o.Controller != nil && *o.Controller; !isController && o.Kind == "Deployment" && o.APIVersion == appsv1.SchemeGroupVersion.String() {
			return &pod.OwnerReferences[i]
		}
	}
	return nil
}

// ReplicaSetOf returns the ReplicaSet that controls the pod; nil without a controller.
func ReplicaSetOf(pod *corev1.Pod) *metav1.OwnerReference {
	if c := metav1.GetControllerOfNoCopy(pod); c != nil && c.Kind == "ReplicaSet" && c.APIVersion == appsv1.SchemeGroupVersion.String() {
		return c
	}
	return nil
}

// Selects reports whether the ReplicaSet would select a marked pod after its return.
func Selects(rs *appsv1.ReplicaSet, pod *corev1.Pod) bool {
	if !Marked(pod) || rs.Labels[LabelHash] != pod.Annotations[AnnotationHash] {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	restored := labels.Merge(pod.Labels, labels.Set{LabelHash: pod.Annotations[AnnotationHash]})
	return err == nil && selector.Matches(restored)
}

func isTerminating(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// readySince returns when the pod became Ready; false if it is not.
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

// patience is the time after which a pod counts as not Ready: the next probe may succeed.
const patience = 30 * time.Second

// unreadyUntil returns when it counts that the pod is not Ready; false if the pod is Ready.
func unreadyUntil(pod *corev1.Pod) (time.Time, bool) {
	since, ready := readySince(pod)
	return since.Add(patience), !ready
}
