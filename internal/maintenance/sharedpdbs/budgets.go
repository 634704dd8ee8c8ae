// SPDX-License-Identifier: Apache-2.0

package sharedpdbs

import (
	"maps"
	"slices"
	"strings"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Pod is the node of a pod, and the fields that budgets select by. Pods with equal values share them, so
// that a pod needs two pointers and its entry in a Store, about 150 bytes: 22 MB for 150,000 pods, the
// limit of Kubernetes, and more for pods whose labels no other pod has, as with StatefulSets and Jobs.
type Pod struct {
	node   unique.Handle[string]
	labels unique.Handle[labelSet]
}

type labelSet struct{ namespace, labels string }

// ReadPod reads a pod that a budget can keep on its node: a pod that has not ended, and that does not
// belong to the node.
func ReadPod(pod *corev1.Pod) (p Pod, wanted bool) {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || BelongsToNode(pod) {
		return Pod{}, false
	}
	return Pod{unique.Make(pod.Spec.NodeName), unique.Make(labelSet{pod.Namespace, labels.Set(pod.Labels).String()})}, true
}

// BelongsToNode reports whether a pod is a DaemonSet's, or a static one, such as the pods of a control
// plane.
func BelongsToNode(pod *corev1.Pod) bool {
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String()
}

// Budget is a PodDisruptionBudget with a parsed selector.
type Budget struct {
	// Key is namespace/name.
	Key string

	namespace string
	selector  labels.Selector
}

// ReadBudget reads a budget. It leaves out a budget whose selector the API server cannot read either.
func ReadBudget(pdb *policyv1.PodDisruptionBudget) (b Budget, wanted bool) {
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	return Budget{pdb.Namespace + "/" + pdb.Name, pdb.Namespace, selector}, err == nil
}

// Budgets are budgets by namespace, sorted by name.
type Budgets map[string][]Budget

// Sorted returns Budgets.
func Sorted(all []Budget) Budgets {
	budgets := Budgets{}
	for _, b := range all {
		budgets[b.namespace] = append(budgets[b.namespace], b)
	}
	for _, inside := range budgets {
		slices.SortFunc(inside, func(a, b Budget) int { return strings.Compare(a.Key, b.Key) })
	}
	return budgets
}

// most limits the budgets of a pod. The API server evicts no pod with two budgets; and the owner of a
// namespace may create any number.
const most = 8

// Select returns the keys of the first budgets that select a pod with these labels.
func (b Budgets) Select(namespace string, set labels.Set) (keys []string) {
	for _, budget := range b[namespace] {
		if len(keys) < most && budget.selector.Matches(set) {
			keys = append(keys, budget.Key)
		}
	}
	return keys
}

// ByNode returns the keys of the budgets of the pods of each node, sorted.
func ByNode(pods []Pod, all []Budget) map[string][]string {
	budgets := Sorted(all)
	keysOf, sets := map[unique.Handle[labelSet]][]string{}, map[unique.Handle[string]]map[string]bool{}
	for _, pod := range pods {
		keys, known := keysOf[pod.labels]
		if of := pod.labels.Value(); !known && len(budgets[of.namespace]) > 0 {
			if set, err := labels.ConvertSelectorToLabelsMap(of.labels); err == nil { // always: the API server validates labels
				keys = budgets.Select(of.namespace, set)
			}
			keysOf[pod.labels] = keys
		}
		for _, key := range keys {
			if sets[pod.node] == nil {
				sets[pod.node] = map[string]bool{}
			}
			sets[pod.node][key] = true
		}
	}
	byNode := map[string][]string{}
	for node, keys := range sets {
		byNode[node.Value()] = slices.Sorted(maps.Keys(keys))
	}
	return byNode
}
