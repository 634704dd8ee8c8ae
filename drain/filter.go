// SPDX-License-Identifier: Apache-2.0

package drain

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// leaver is a pod that must leave, and how.
type leaver struct {
	pod *corev1.Pod
	treatment
}

// stayer is a pod in scope that the drain does not wait for.
type stayer struct {
	pod *corev1.Pod
	why obstacle
}

// filter tells the pods that must leave from those that stay although they are covered.
func filter(pods []*corev1.Pod, f facts) (leaving []leaver, left []stayer) {
	for _, pod := range covered(pods, f.request.Targets, f.own) {
		t := treat(pod, f.rules[pod.Namespace], f.request.PodTimeout)
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case isMirror(pod) && f.statics[pod.UID].Left != "":
			left = append(left, stayer{pod, obstacle{reason: StaticPodLeft, message: StaticPodLeft.advise(f.statics[pod.UID].Left)}})
		case t.behavior == Skip:
			left = append(left, stayer{pod, obstacle{PodSkipped, t.rule, PodSkipped.advise("rule " + t.rule + " says that the pod stays")}})
		case owner != nil && f.recurring[owner.UID] && !isTerminating(pod):
			left = append(left, stayer{pod, recurs(pod, owner)})
		default:
			leaving = append(leaving, leaver{pod, t})
		}
	}
	return leaving, left
}

// covered keeps the pods that the targets speak of. The verdicts for the default target are those of kubectl drain with
// --ignore-daemonsets, --delete-emptydir-data and --force.
func covered(pods []*corev1.Pod, targets []Target, own string) []*corev1.Pod {
	var in []*corev1.Pod
	for _, pod := range pods {
		if exemption(pod, targets, own) == "" {
			in = append(in, pod)
		}
	}
	return in
}

// exemption says why the targets do not speak of a pod. Empty: they do. Pods of a DaemonSet of those who drain stay,
// whatever the targets say: they are at work on the node, and would drain themselves again and again.
func exemption(pod *corev1.Pod, targets []Target, own string) Exemption {
	if len(targets) == 0 {
		targets = []Target{{PodType: PodTypeDefault}}
	}
	switch {
	case isMirror(pod) && !isTarget(pod, targets):
		return StaticPod
	case own != "" && pod.Namespace == own && typeOf(pod) == PodTypeDaemonSet:
		return DaemonSetPod
	case isTarget(pod, targets):
		return ""
	case typeOf(pod) == PodTypeDaemonSet:
		return DaemonSetPod
	default:
		return NotTargeted
	}
}

func isTarget(pod *corev1.Pod, targets []Target) bool {
	for _, t := range targets {
		if t.PodType == typeOf(pod) && (t.PodPriority == nil || priorityOf(pod) <= *t.PodPriority) &&
			(t.Selector == nil || t.Selector.Matches(labels.Set(pod.Labels))) {
			return true
		}
	}
	return false
}

// typeOf takes a finished pod of a DaemonSet for an ordinary one: it runs nothing, and kubectl removes it, too. A finished
// static pod is none: its image in the API stays as long as its manifest.
func typeOf(pod *corev1.Pod) PodType {
	switch {
	case isMirror(pod):
		return PodTypeStatic
	case hasDaemonSet(pod) && !isFinished(pod):
		return PodTypeDaemonSet
	default:
		return PodTypeDefault
	}
}

func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// isMirror tells pods that the kubelet runs from a file or URL: evicting their image in the API stops nothing.
func isMirror(pod *corev1.Pod) bool {
	_, found := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return found
}

func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// hasDaemonSet tells pods that would come back to this node at once. Kind alone is not enough: other groups, and versions
// that are no more, have a DaemonSet too, whose pods kubectl drain removes. Whether the DaemonSet still exists is not
// asked: if it does not, the garbage collector removes the pod.
func hasDaemonSet(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String()
}

// scope keeps the pods that this drain speaks about: those bound to its node. The watch asks the server for the same;
// checking again keeps the promise with clients that ignore field selectors.
func scope(nodeName string, pods []*corev1.Pod) []*corev1.Pod {
	var in []*corev1.Pod
	for _, pod := range pods {
		if pod.Spec.NodeName == nodeName {
			in = append(in, pod)
		}
	}
	return in
}
