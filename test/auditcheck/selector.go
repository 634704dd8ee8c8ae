// SPDX-License-Identifier: Apache-2.0

package auditcheck

import "slices"

// Selector selects objects by their labels.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels"`
	MatchExpressions []struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values"`
	} `json:"matchExpressions"`
}

// matches says whether the labels are selected. A selector without terms selects all.
func (s *Selector) matches(labels map[string]string) bool {
	for k, want := range s.MatchLabels {
		if have, ok := labels[k]; !ok || have != want {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		have, ok := labels[e.Key]
		in := ok && slices.Contains(e.Values, have)
		if e.Operator == "In" && !in || e.Operator == "NotIn" && in || e.Operator == "Exists" && !ok || e.Operator == "DoesNotExist" && ok {
			return false
		}
	}
	return true
}
