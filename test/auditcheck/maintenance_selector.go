// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"slices"
	"strconv"
)

// nodeSelector selects nodes: those that match one of its terms.
type nodeSelector struct {
	NodeSelectorTerms []struct {
		MatchExpressions []nodeRequirement `json:"matchExpressions"`
		MatchFields      []nodeRequirement `json:"matchFields"`
	} `json:"nodeSelectorTerms"`
}

type nodeRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

func (s *nodeSelector) matches(n *node) bool {
	fields := map[string]string{"metadata.name": n.name()}
	for _, term := range s.NodeSelectorTerms {
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			continue // a term without requirements selects nothing
		}
		missed := func(of map[string]string) func(nodeRequirement) bool {
			return func(r nodeRequirement) bool { return !r.meets(of) }
		}
		if !slices.ContainsFunc(term.MatchExpressions, missed(n.Metadata.Labels)) && !slices.ContainsFunc(term.MatchFields, missed(fields)) {
			return true
		}
	}
	return false
}

func (r nodeRequirement) meets(labels map[string]string) bool {
	have, ok := labels[r.Key]
	switch r.Operator {
	case "In":
		return ok && slices.Contains(r.Values, have)
	case "NotIn":
		return !ok || !slices.Contains(r.Values, have)
	case "Exists":
		return ok
	case "DoesNotExist":
		return !ok
	}
	number, err := strconv.ParseInt(have, 10, 64)
	if !ok || err != nil || len(r.Values) != 1 {
		return false
	}
	bound, err := strconv.ParseInt(r.Values[0], 10, 64)
	return err == nil && (r.Operator == "Gt" && number > bound || r.Operator == "Lt" && number < bound)
}
