// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"slices"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// injected are the priorities that each podType ends with (KEP-4212): the highest that
// users can give, system-cluster-critical, system-node-critical, and the highest there is.
var injected = []int32{1000000000, 2000000000, 2000001000, 2147483647}

// Complete gives the steps of a drain plan: the entries, and those up to the highest
// priorities for type Default and for each type that an entry names; by podType (Default,
// DaemonSet, Static), then by podPriority, those with a podSelector first. What is there
// twice, is there once. An entry without a priority is for the highest.
//
// It takes whatever the API server lets pass, and changes nothing but order and form. That
// there is no such type is for [Validate] to say. Static pods come last, as in the KEP, and only
// where an entry names them.
func Complete(entries []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	return targetsOf(complete(entries))
}

func complete(targets []slipwayv1alpha1.DrainTarget) []entry {
	steps := entriesOf(targets)
	types := []slipwayv1alpha1.PodType{slipwayv1alpha1.PodTypeDefault}
	for _, e := range steps {
		if !slices.Contains(types, e.podType) {
			types = append(types, e.podType)
		}
	}
	for _, t := range types {
		for _, priority := range injected {
			steps = append(steps, entry{podType: t, priority: priority})
		}
	}
	return inOrder(steps)
}

// inOrder sorts steps, and keeps one of those that say the same.
func inOrder(steps []entry) []entry {
	slices.SortStableFunc(steps, func(a, b entry) int { return a.level().compare(b.level()) })
	return slices.CompactFunc(steps, func(a, b entry) bool { return a.podType == b.podType && a.level() == b.level() })
}

// Alone is what is left of the steps of a plan for a node that waits for no other: a drain
// takes lower priorities first by itself, so that of steps without a selector that follow
// each other, the last one says the same.
func Alone(plan []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	var steps []slipwayv1alpha1.DrainTarget
	for i, step := range plan {
		covered := i+1 < len(plan) && plan[i+1].PodType == step.PodType && step.PodSelector == nil && plan[i+1].PodSelector == nil
		if !covered {
			steps = append(steps, step)
		}
	}
	return steps
}
