// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// requirements are what a selector asks for, one text each, sorted and without repetition:
// two selectors that ask for the same have the same. Nil: it selects all pods.
func requirements(s *metav1.LabelSelector) []string {
	if s == nil {
		return nil
	}
	var all []string
	for key, value := range s.MatchLabels {
		all = append(all, requirement(key, metav1.LabelSelectorOpIn, []string{value}))
	}
	for _, r := range s.MatchExpressions {
		all = append(all, requirement(r.Key, r.Operator, r.Values))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func requirement(key string, operator metav1.LabelSelectorOperator, values []string) string {
	sorted := slices.Sorted(slices.Values(values))
	return key + " " + string(operator) + " (" + strings.Join(slices.Compact(sorted), ",") + ")"
}
