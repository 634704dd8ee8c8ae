// SPDX-License-Identifier: Apache-2.0

package maintainer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
)

// podOn is what is kept of a pod: its node, and what budgets select by. Both are kept once
// for all pods that have the same, so that a pod costs two pointers and its entry in the
// shelf, about 150 bytes: 150,000 pods, the most that Kubernetes is made for, 22 MB, and some
// more for those whose labels no other has, as with StatefulSets and Jobs.
type podOn struct {
	node     unique.Handle[string]
	labelled unique.Handle[labelled]
}

// labelled is what pods of a workload have in common.
type labelled struct{ namespace, labels string }

// readPod reads a pod that a budget can keep on its node: not one that belongs there.
func readPod(o metav1.Object) (p podOn, wanted bool) {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || belongsToNode(pod) {
		return podOn{}, false
	}
	return podOn{
		node:     unique.Make(pod.Spec.NodeName),
		labelled: unique.Make(labelled{pod.Namespace, labels.Set(pod.Labels).String()}),
	}, true
}

// podShelf has the pods of the cluster. While the first of them arrive, all are in memory at
// a time, and then as slim as may be.
type podShelf struct{ *shelf[podOn] }

// Transformer implements cache.TransformingStore.
func (podShelf) Transformer() toolscache.TransformFunc {
	return func(o any) (any, error) {
		if pod, ok := o.(*corev1.Pod); ok {
			return slimPod(pod), nil
		}
		return o, nil
	}
}

// slimPod is a pod with what readPod reads, and what a Reflector tells pods apart by.
func slimPod(pod *corev1.Pod) *corev1.Pod {
	slim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		Labels: pod.Labels, OwnerReferences: pod.OwnerReferences,
	}}
	if mirror, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		slim.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: mirror}
	}
	slim.Spec.NodeName = pod.Spec.NodeName
	return slim
}

// slimList has nothing else of the pods of a page.
func slimList(list *corev1.PodList, err error) (*corev1.PodList, error) {
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	for i := range list.Items {
		list.Items[i] = *slimPod(&list.Items[i])
	}
	return list, nil
}

// budget is what is kept of a PodDisruptionBudget.
type budget struct {
	namespace, key string // key is namespace/name
	selector       labels.Selector
}

// most is how many budgets of a pod are looked at, the first by name. The API server evicts no
// pod that has two; and whoever owns a namespace may write as many as they like.
const most = 8

// readBudget reads one that the API server reads too: of others it says so itself.
func readBudget(o metav1.Object) (b budget, wanted bool) {
	pdb, ok := o.(*policyv1.PodDisruptionBudget)
	if !ok {
		return budget{}, false
	}
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	return budget{pdb.Namespace, pdb.Namespace + "/" + pdb.Name, selector}, err == nil
}

// budgetsByNode are the budgets of the pods of each node, as namespace/name, sorted.
func budgetsByNode(pods []podOn, all []budget) map[string][]string {
	inside := byNamespace(all)
	matching, sets := map[unique.Handle[labelled]][]string{}, map[unique.Handle[string]]map[string]bool{}
	for _, pod := range pods {
		names, known := matching[pod.labelled]
		if !known {
			names = matches(pod.labelled.Value(), inside)
			matching[pod.labelled] = names
		}
		for _, name := range names {
			if sets[pod.node] == nil {
				sets[pod.node] = map[string]bool{}
			}
			sets[pod.node][name] = true
		}
	}
	of := map[string][]string{}
	for node, names := range sets {
		of[node.Value()] = slices.Sorted(maps.Keys(names))
	}
	return of
}

// matches are the budgets that select what is labelled so.
func matches(what labelled, inside map[string][]budget) (names []string) {
	if len(inside[what.namespace]) == 0 {
		return nil
	}
	set, err := labels.ConvertSelectorToLabelsMap(what.labels)
	if err != nil {
		return nil // the API server accepts no such labels
	}
	for _, b := range selecting(inside[what.namespace], set) {
		names = append(names, b.key)
	}
	return names
}

// keyed is a budget, and perhaps more.
type keyed interface{ identity() budget }

func (b budget) identity() budget { return b }

// byNamespace sorts budgets.
func byNamespace[B keyed](all []B) map[string][]B {
	inside := map[string][]B{}
	for _, b := range all {
		inside[b.identity().namespace] = append(inside[b.identity().namespace], b)
	}
	for _, budgets := range inside {
		slices.SortFunc(budgets, func(a, b B) int { return strings.Compare(a.identity().key, b.identity().key) })
	}
	return inside
}

// selecting are the first of these budgets that select what is labelled so.
func selecting[B keyed](budgets []B, set labels.Set) (found []B) {
	for _, b := range budgets {
		if b.identity().selector.Matches(set) {
			if found = append(found, b); len(found) == most {
				break
			}
		}
	}
	return found
}
