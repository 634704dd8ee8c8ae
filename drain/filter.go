// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// leaver is a pod that must leave, with its treatment.
type leaver struct {
	pod *corev1.Pod
	treatment
}

// stayer is a pod in scope that the drain does not wait for.
type stayer struct {
	pod *corev1.Pod
	why *obstacle
}

// filter separates the pods that must leave from the covered pods that stay.
func filter(pods []*corev1.Pod, f facts) (leaving []leaver, left []stayer) {
	for _, pod := range covered(pods, f.request, f.own) {
		t := treat(pod, f.node.labels, f.rules[pod.Namespace], f.request.PodTimeout)
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case isMirror(pod) && f.statics[pod.UID].Left != "":
			left = append(left, stayer{pod, StaticPodLeft.obstacle("", "%s", f.statics[pod.UID].Left)})
		case t.behavior == Skip:
			left = append(left, stayer{pod, PodSkipped.obstacle(t.rule, "%s keeps the pod on the node", t.source())})
		case owner != nil && f.owners[owner.UID].recurring() && !isTerminating(pod):
			left = append(left, stayer{pod, recurs(pod, owner)})
		default:
			leaving = append(leaving, leaver{pod, t})
		}
	}
	return leaving, left
}

func recurs(pod *corev1.Pod, owner *metav1.OwnerReference) *obstacle {
	by := fmt.Sprintf("%s %s/%s", owner.Kind, pod.Namespace, owner.Name)
	return PodRecurring.obstacle(by, "pods of %s returned to the node after each eviction, so the drain leaves them there", by)
}

// scope returns the pods that are bound to the node. The watch selects the same pods; some fake clients ignore field selectors.
func scope(nodeName string, pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != nodeName })
}

// covered returns the pods that the targets cover. The default target covers the pods that kubectl drain evicts with
// --ignore-daemonsets, --delete-emptydir-data and --force.
func covered(pods []*corev1.Pod, request Request, own string) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return exemption(pod, request, own) != "" })
}

// exemption returns the cause for which the targets do not cover a pod. Empty: they do. They never cover a DaemonSet's pods
// in own: these work on the node, and would drain themselves again and again.
func exemption(pod *corev1.Pod, request Request, own string) Exemption {
	targets := request.Targets
	if len(targets) == 0 {
		targets = []Target{{PodType: PodTypeDefault}}
	}
	switch {
	case isMirror(pod) && !isTarget(pod, targets):
		return StaticPod
	case own != "" && pod.Namespace == own && typeOf(pod) == PodTypeDaemonSet:
		return DaemonSetPod
	case own != "" && pod.Namespace == own && request.KeepOwnPods:
		return NotTargeted
	case isTarget(pod, targets):
		return ""
	case typeOf(pod) == PodTypeDaemonSet:
		return DaemonSetPod
	default:
		return NotTargeted
	}
}

func isTarget(pod *corev1.Pod, targets []Target) bool {
	return slices.ContainsFunc(targets, func(t Target) bool {
		return t.PodType == typeOf(pod) && (t.PodPriority == nil || priorityOf(pod) <= *t.PodPriority) &&
			(t.Selector == nil || t.Selector.Matches(labels.Set(pod.Labels)))
	})
}

// typeOf counts a finished pod of a DaemonSet as an ordinary pod: it runs no container, and kubectl removes it, too. A finished
// static pod stays static: its image in the API exists as long as its manifest.
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

func priorityOf(pod *corev1.Pod) int32 { return ptr.Deref(pod.Spec.Priority, 0) }

// isMirror reports whether the kubelet runs the pod from a file or URL: an eviction of its image in the API stops no container.
func isMirror(pod *corev1.Pod) bool {
	_, found := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return found
}

func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func isTerminating(pod *corev1.Pod) bool { return !pod.DeletionTimestamp.IsZero() }

// hasDaemonSet reports whether a DaemonSet would start the pod again on this node. Kind alone is not enough: other groups, and
// removed versions, have a DaemonSet too, whose pods kubectl drain removes. The DaemonSet need not exist: the garbage
// collector removes the pods of a deleted DaemonSet.
func hasDaemonSet(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String()
}

// refusal returns the cause for which the request refuses to evict a pod. The data of a finished or terminating pod are lost
// already. As kubectl, it checks local storage first.
func refusal(pod *corev1.Pod, r Request) *obstacle {
	names := localVolumes(pod)
	switch {
	case isTerminating(pod), isFinished(pod):
		return nil
	case len(names) > 0 && r.RefuseLocalStorage:
		return LocalStorage.obstacle(names[0], "the content of its emptyDir volume %s would be lost, and the drain refuses such pods, "+
			"so it evicts no pod", names[0])
	case r.RefuseUnmanaged && isUnmanaged(pod):
		return UnmanagedPod.obstacle("", "no controller would start the pod again, and the drain refuses such pods, so it evicts no pod")
	default:
		return nil
	}
}

// isUnmanaged reports that no controller starts the pod again. A pod that a surge has released has its replacement already. A
// kubelet manages its static pods.
func isUnmanaged(pod *corev1.Pod) bool {
	return metav1.GetControllerOfNoCopy(pod) == nil && !Released(pod) && !isMirror(pod)
}

// annotationReleased marks a pod that a surge (slipway.dev/surge) has released from its ReplicaSet.
const annotationReleased = "slipway.dev/surge-template-hash"

// Released reports whether a surge has released the pod from its ReplicaSet, which has started a replacement. The pod still
// belongs to its Deployment, which does not control it.
func Released(pod *corev1.Pod) bool {
	if _, annotated := pod.Annotations[annotationReleased]; !annotated {
		return false
	}
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == "Deployment" && o.APIVersion == appsv1.SchemeGroupVersion.String() && (o.Controller == nil || !*o.Controller)
	})
}

// localVolumes returns the emptyDir volumes of a pod: their content is lost with the pod.
func localVolumes(pod *corev1.Pod) []string {
	var names []string
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir != nil {
			names = append(names, v.Name)
		}
	}
	return names
}

// order sorts the pods into steps: all pods of a step may leave together, and a step waits for the step before it. Static
// pods leave last, and before them the pods of own. Other pods leave in the order of their rules, then DaemonSet pods
// after others, then pods of a lower priority before pods of a higher priority.
//
// Within a step, each pass uses the same order: if a budget allows one eviction, each pass must pick the same pod. The order
// of the UIDs is as good as random: drains of several nodes that begin together so begin under different budgets.
func order(leaving []leaver, own string) [][]leaver {
	sorted := slices.SortedFunc(slices.Values(leaving), func(a, b leaver) int {
		return cmp.Or(
			compareSteps(a, b, own),
			cmp.Compare(a.pod.UID, b.pod.UID),
		)
	})
	var steps [][]leaver
	for i, l := range sorted {
		if i == 0 || compareSteps(sorted[i-1], l, own) != 0 {
			steps = append(steps, nil)
		}
		steps[len(steps)-1] = append(steps[len(steps)-1], l)
	}
	return steps
}

func compareSteps(a, b leaver, own string) int {
	return cmp.Or(
		compareFlags(isMirror(a.pod), isMirror(b.pod)),
		compareFlags(own != "" && a.pod.Namespace == own, own != "" && b.pod.Namespace == own),
		cmp.Compare(a.order, b.order),
		compareFlags(typeOf(a.pod) == PodTypeDaemonSet, typeOf(b.pod) == PodTypeDaemonSet),
		cmp.Compare(priorityOf(a.pod), priorityOf(b.pod)),
	)
}

// compareFlags puts false before true.
func compareFlags(a, b bool) int { return rank(a) - rank(b) }

func rank(flag bool) int {
	if flag {
		return 1
	}
	return 0
}
