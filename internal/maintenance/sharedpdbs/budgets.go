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

// Pod is what counts of a pod: its node, and what budgets select by. Both are kept once for all
// pods that have the same, so that a pod costs two pointers and its entry in whatever has it,
// about 150 bytes: 150,000 pods, the most that Kubernetes is made for, 22 MB, and some more for
// those whose labels no other has, as with StatefulSets and Jobs.
type Pod struct {
	node     unique.Handle[string]
	labelled unique.Handle[labelled]
}

// labelled is what pods of a workload have in common.
type labelled struct{ namespace, labels string }

// ReadPod reads a pod that a budget can keep on its node: not one that belongs there, or has
// ended.
func ReadPod(pod *corev1.Pod) (p Pod, wanted bool) {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || BelongsToNode(pod) {
		return Pod{}, false
	}
	return Pod{
		node:     unique.Make(pod.Spec.NodeName),
		labelled: unique.Make(labelled{pod.Namespace, labels.Set(pod.Labels).String()}),
	}, true
}

// BelongsToNode says whether a pod is one of a DaemonSet, or a static one, as those of a
// control plane are.
func BelongsToNode(pod *corev1.Pod) bool {
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String()
}

// Budget is what counts of a PodDisruptionBudget.
type Budget struct {
	// Namespace is its own.
	Namespace string
	// Key is namespace/name.
	Key string

	selector labels.Selector
}

// most is how many budgets of a pod are looked at, the first by name. The API server evicts no
// pod that has two; and whoever owns a namespace may write as many as they like.
const most = 8

// ReadBudget reads one that the API server reads too: of others it says so itself.
func ReadBudget(pdb *policyv1.PodDisruptionBudget) (b Budget, wanted bool) {
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	return Budget{pdb.Namespace, pdb.Namespace + "/" + pdb.Name, selector}, err == nil
}

// Budgets finds those that select a pod.
type Budgets struct{ inside map[string][]Budget }

// Sorted are these budgets, to be asked.
func Sorted(all []Budget) Budgets {
	inside := map[string][]Budget{}
	for _, b := range all {
		inside[b.Namespace] = append(inside[b.Namespace], b)
	}
	for _, budgets := range inside {
		slices.SortFunc(budgets, func(a, b Budget) int { return strings.Compare(a.Key, b.Key) })
	}
	return Budgets{inside}
}

// Of are the keys of the first budgets, by name, that select what is labelled so.
func (b Budgets) Of(namespace string, set labels.Set) (keys []string) {
	for _, budget := range b.inside[namespace] {
		if budget.selector.Matches(set) {
			if keys = append(keys, budget.Key); len(keys) == most {
				break
			}
		}
	}
	return keys
}

// ByNode are the budgets of the pods of each node, as namespace/name, sorted.
func ByNode(pods []Pod, all []Budget) map[string][]string {
	budgets := Sorted(all)
	matching, sets := map[unique.Handle[labelled]][]string{}, map[unique.Handle[string]]map[string]bool{}
	for _, pod := range pods {
		keys, known := matching[pod.labelled]
		if !known {
			keys = budgets.matching(pod.labelled.Value())
			matching[pod.labelled] = keys
		}
		for _, key := range keys {
			if sets[pod.node] == nil {
				sets[pod.node] = map[string]bool{}
			}
			sets[pod.node][key] = true
		}
	}
	of := map[string][]string{}
	for node, keys := range sets {
		of[node.Value()] = slices.Sorted(maps.Keys(keys))
	}
	return of
}

func (b Budgets) matching(what labelled) []string {
	if len(b.inside[what.namespace]) == 0 {
		return nil
	}
	set, err := labels.ConvertSelectorToLabelsMap(what.labels)
	if err != nil {
		return nil // the API server accepts no such labels
	}
	return b.Of(what.namespace, set)
}
