// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// nodeOperators of a selector on a command line, as those of a NodeSelector. Other than
// selectors of pods, these compare numbers as well.
var nodeOperators = map[selection.Operator]corev1.NodeSelectorOperator{
	selection.Equals:       corev1.NodeSelectorOpIn,
	selection.DoubleEquals: corev1.NodeSelectorOpIn,
	selection.In:           corev1.NodeSelectorOpIn,
	selection.NotEquals:    corev1.NodeSelectorOpNotIn,
	selection.NotIn:        corev1.NodeSelectorOpNotIn,
	selection.Exists:       corev1.NodeSelectorOpExists,
	selection.DoesNotExist: corev1.NodeSelectorOpDoesNotExist,
	selection.GreaterThan:  corev1.NodeSelectorOpGt,
	selection.LessThan:     corev1.NodeSelectorOpLt,
}

// NodesWithLabels is a selector of the command line, such as pool=web,zone!=c, as an object
// has it. Nodes that come to have the labels later are selected, too.
func NodesWithLabels(text string) (corev1.NodeSelector, error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return corev1.NodeSelector{}, fmt.Errorf("--selector: %w", err)
	}
	requirements, _ := parsed.Requirements()
	if len(requirements) == 0 {
		return corev1.NodeSelector{}, errors.New("--selector: name at least one label: a selector without any selects no node")
	}
	var term corev1.NodeSelectorTerm
	for _, r := range requirements {
		operator, known := nodeOperators[r.Operator()]
		if !known {
			return corev1.NodeSelector{}, fmt.Errorf("--selector: %q: nodes cannot be selected by %q", text, r.Operator())
		}
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
			Key: r.Key(), Operator: operator, Values: r.Values().List(),
		})
	}
	return corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}, nil
}

// NodesNamed selects nodes by their names. It has a term for each, as a field is matched with
// one value only.
func NodesNamed(names []string) corev1.NodeSelector {
	var selector corev1.NodeSelector
	for _, name := range names {
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{{
				Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name},
			}},
		})
	}
	return selector
}
