// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"fmt"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// Validate says what is wrong with the entries of a drain plan, at the first that is wrong:
// one without a type or a priority, of a type that there is not, with a selector that
// cannot be, or one that is there twice. The order of entries does not matter.
func Validate(entries []slipwayv1alpha1.DrainTarget) error {
	path := field.NewPath("spec", "drainPlan")
	seen := map[class]map[int32]int{}
	for i, t := range entries {
		if err := validate(t, path.Index(i)); err != nil {
			return err
		}
		e := entryOf(t)
		before := seen[e.class()]
		if first, twice := before[e.priority]; twice {
			return fmt.Errorf("%s: is the same as %s", path.Index(i), path.Index(first))
		}
		if before == nil {
			before = map[int32]int{}
			seen[e.class()] = before
		}
		before[e.priority] = i
	}
	return nil
}

func validate(t slipwayv1alpha1.DrainTarget, path *field.Path) error {
	switch t.PodType {
	case slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet, slipwayv1alpha1.PodTypeStatic:
	case "":
		return fmt.Errorf("%s: is missing; it must be %s, %s or %s", path.Child("podType"),
			slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet, slipwayv1alpha1.PodTypeStatic)
	default:
		return fmt.Errorf("%s: %q must be %s, %s or %s", path.Child("podType"), t.PodType,
			slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet, slipwayv1alpha1.PodTypeStatic)
	}
	if t.PodPriority == nil {
		return fmt.Errorf("%s: is missing; it is the highest priority of the pods that leave", path.Child("podPriority"))
	}
	if t.PodSelector == nil {
		return nil
	}
	selector := path.Child("podSelector")
	if wrong := metav1validation.ValidateLabelSelector(t.PodSelector, metav1validation.LabelSelectorValidationOptions{}, selector); len(wrong) > 0 {
		return wrong[0]
	}
	return nil
}

// nowhere is a label that a pod would have to have, and not to have.
const nowhere = "slipway.dev/nowhere"

// nobody is what the selector of [Nothing] asks for.
var nobody = requirements(noPod())

// Nothing gives targets that cover no pod, for the drain of a node that is only cordoned: a
// drain without targets would move all pods but those of DaemonSets.
func Nothing() []slipwayv1alpha1.DrainTarget {
	return []slipwayv1alpha1.DrainTarget{{
		PodType: slipwayv1alpha1.PodTypeDefault, PodPriority: new(int32(math.MinInt32)), PodSelector: noPod(),
	}}
}

func noPod() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: nowhere, Operator: metav1.LabelSelectorOpExists},
		{Key: nowhere, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
}
