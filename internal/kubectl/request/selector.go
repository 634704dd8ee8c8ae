// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// operators of a selector on a command line, as those of an object. A label that is not
// there is not equal to anything, in both.
var operators = map[selection.Operator]metav1.LabelSelectorOperator{
	selection.Equals:       metav1.LabelSelectorOpIn,
	selection.DoubleEquals: metav1.LabelSelectorOpIn,
	selection.In:           metav1.LabelSelectorOpIn,
	selection.NotEquals:    metav1.LabelSelectorOpNotIn,
	selection.NotIn:        metav1.LabelSelectorOpNotIn,
	selection.Exists:       metav1.LabelSelectorOpExists,
	selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
}

// selectorOf is a selector of the command line, such as app=web,tier!=db, as an object has
// it.
func selectorOf(text string) (*metav1.LabelSelector, error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	requirements, _ := parsed.Requirements()
	selector := &metav1.LabelSelector{}
	for _, r := range requirements {
		operator, known := operators[r.Operator()]
		if !known {
			return nil, fmt.Errorf("%q: selectors of objects do not compare numbers", text)
		}
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: r.Key(), Operator: operator, Values: r.Values().List(),
		})
	}
	return selector, nil
}
