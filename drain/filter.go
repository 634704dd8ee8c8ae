// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
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

// covered keeps the pods that the targets cover. The verdicts for the default target are those of kubectl drain with
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

// exemption says why the targets do not cover a pod. Empty: they do. Pods of a DaemonSet in own stay, whatever the targets
// say: they are at work on the node, and would drain themselves again and again.
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

// scope keeps the pods that are bound to the node. The watch asks the server for the same; checking again keeps that true
// with clients that ignore field selectors.
func scope(nodeName string, pods []*corev1.Pod) []*corev1.Pod {
	var in []*corev1.Pod
	for _, pod := range pods {
		if pod.Spec.NodeName == nodeName {
			in = append(in, pod)
		}
	}
	return in
}

// refuse finds the pods that the request refuses to evict. While there is one, nothing is evicted.
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
	if names := localVolumes(pod); len(names) > 0 && r.RefuseLocalStorage {
		name := names[0]
		return &obstacle{LocalStorage, name, LocalStorage.advise("the content of its emptyDir volume " + name + " would be lost, and the " +
			"drain is asked to refuse such pods, so nothing is evicted")}
	}
	if r.RefuseUnmanaged && isUnmanaged(pod) {
		return &obstacle{reason: UnmanagedPod, message: UnmanagedPod.advise("nobody would start the pod again, and the drain is " +
			"asked to refuse such pods, so nothing is evicted")}
	}
	return nil
}

// isUnmanaged reports that no controller starts the pod again. A pod that a surge has released has its replacement already. A
// static pod is its kubelet's.
func isUnmanaged(pod *corev1.Pod) bool {
	return metav1.GetControllerOfNoCopy(pod) == nil && !Released(pod) && !isMirror(pod)
}

// annotationReleased is what a surge (slipway.dev/surge) leaves on a pod that it takes from its ReplicaSet.
const annotationReleased = "slipway.dev/surge-template-hash"

// Released reports whether a surge has taken the pod from its ReplicaSet, which has started another one in its place. The pod
// still belongs to its Deployment, which does not control it.
func Released(pod *corev1.Pod) bool {
	if _, annotated := pod.Annotations[annotationReleased]; !annotated {
		return false
	}
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == "Deployment" && o.APIVersion == appsv1.SchemeGroupVersion.String() && (o.Controller == nil || !*o.Controller)
	})
}

// localVolumes are the emptyDir volumes of a pod: their content is lost with the pod.
func localVolumes(pod *corev1.Pod) []string {
	var names []string
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir != nil {
			names = append(names, v.Name)
		}
	}
	return names
}

// order sorts the pods into steps: all pods of a step may leave together, and a step waits for the one before it. Static
// pods leave last, and before them the pods of own. All others leave by the order that a rule gives them, then DaemonSet pods
// after others, then pods of a lower priority before those of a higher.
//
// Within a step it is the same each time: where a budget allows one pod to go, each pass must pick the same one. It is
// by UID, which is as good as random: drains of several nodes that begin together so begin under different budgets.
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
func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
