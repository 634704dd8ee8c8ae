// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
)

// The responder that comes last for every pod: it evicts.
const (
	Evictor               = evictionv1alpha1.EvictionResponderImperativeEviction
	evictorPriority int32 = 100
	lowestPriority  int32 = 1000 // those below are Kubernetes' own
	highestPriority int32 = 100_000
	maxOfPod              = 10
)

// targetResponders are those of the pod and the one that comes last, in the order in
// which it is their turn.
func targetResponders(ofPod []corev1.EvictionResponder) []evictionv1alpha1.TargetResponder {
	all := []evictionv1alpha1.TargetResponder{{Name: Evictor, Priority: new(evictorPriority)}}
	for _, r := range ofPod {
		all = append(all, evictionv1alpha1.TargetResponder{Name: r.Name, Priority: r.Priority})
	}
	slices.SortFunc(all, inTurn)
	for i := range all {
		all[i].State = evictionv1alpha1.ResponderStateInactive
	}
	return all
}

// inTurn is the order of responders: the higher priority first; of equal ones, the first
// by domain, its top label compared first, then by key.
func inTurn(a, b evictionv1alpha1.TargetResponder) int {
	return cmp.Or(
		-cmp.Compare(priority(a), priority(b)),
		slices.Compare(domain(a.Name), domain(b.Name)),
		strings.Compare(key(a.Name), key(b.Name)),
	)
}

func priority(r evictionv1alpha1.TargetResponder) int32 {
	if r.Priority == nil {
		return -1
	}
	return *r.Priority
}

// domain is what stands before the slash, from the top label down.
func domain(name string) []string {
	prefix, _, _ := strings.Cut(name, "/")
	labels := strings.Split(prefix, ".")
	slices.Reverse(labels)
	return labels
}

func key(name string) string {
	_, after, _ := strings.Cut(name, "/")
	return after
}

// inTurnOf are the indexes of the responders, in the order of their turns.
func inTurnOf(all []evictionv1alpha1.TargetResponder) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return inTurn(all[a], all[b]) })
	return order
}

// InTurn are the responders of an Eviction, in the order of their turns.
func InTurn(all []evictionv1alpha1.TargetResponder) []evictionv1alpha1.TargetResponder {
	return slices.SortedFunc(slices.Values(all), inTurn)
}
