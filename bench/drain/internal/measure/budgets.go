// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"encoding/json"
	"slices"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/slipway-k8s/slipway/bench/drain/internal/idle"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// versions reads, from what was written of the budgets of a namespace, when each of
// them allowed an eviction. The API server itself writes them, too: with each eviction.
func versions(requests []auditlog.Request, namespace string) map[string][]idle.Version {
	by := map[string][]idle.Version{}
	for _, r := range requests {
		if r.Resource != "poddisruptionbudgets" || r.Namespace != namespace || !isAccepted(r.Code) || r.Verb == "get" || r.Verb == "list" {
			continue
		}
		var budget policyv1.PodDisruptionBudget
		if len(r.Answer) == 0 || json.Unmarshal(r.Answer, &budget) != nil || budget.Kind != "PodDisruptionBudget" {
			continue
		}
		status := budget.Status
		by[budget.Name] = append(by[budget.Name], idle.Version{
			At: r.Ended, Allowed: status.DisruptionsAllowed > 0 && status.ObservedGeneration >= budget.Generation,
		})
	}
	for _, of := range by {
		slices.SortStableFunc(of, func(a, b idle.Version) int { return a.At.Compare(b.At) })
	}
	return by
}
