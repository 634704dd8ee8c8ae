// SPDX-License-Identifier: Apache-2.0

package sharedpdbs

import (
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

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
func ReadBudget(o metav1.Object) (b Budget, wanted bool) {
	pdb, ok := o.(*policyv1.PodDisruptionBudget)
	if !ok {
		return Budget{}, false
	}
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
