// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"fmt"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

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
