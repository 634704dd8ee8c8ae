// SPDX-License-Identifier: Apache-2.0

package sharedpdbs

import (
	"maps"
	"slices"
	"unique"

	"k8s.io/apimachinery/pkg/labels"
)

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
