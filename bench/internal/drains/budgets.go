// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/slipway-k8s/slipway/bench/internal/drains/idle"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// versions returns when each PodDisruptionBudget of a namespace allowed an eviction, from
// the writes in the audit log. The API server writes them, too: with each eviction.
func versions(requests []auditlog.Request, namespace string) map[string][]idle.Version {
	by := map[string][]written{}
	for _, r := range requests {
		if r.Resource != "poddisruptionbudgets" || r.Namespace != namespace || !isAccepted(r.Code) || r.Verb == "get" || r.Verb == "list" {
			continue
		}
		var budget policyv1.PodDisruptionBudget
		if len(r.Answer) == 0 || json.Unmarshal(r.Answer, &budget) != nil || budget.Kind != "PodDisruptionBudget" {
			continue
		}
		status := budget.Status
		version, _ := strconv.ParseUint(budget.ResourceVersion, 10, 64) // the log's own order, where there is none
		by[budget.Name] = append(by[budget.Name], written{version, idle.Version{
			At: r.Ended, Allowed: status.DisruptionsAllowed > 0 && status.ObservedGeneration >= budget.Generation,
		}})
	}
	inOrder := map[string][]idle.Version{}
	for name, all := range by {
		inOrder[name] = order(all)
	}
	return inOrder
}

// written is a version of a budget, with its number.
type written struct {
	number uint64
	idle.Version
}

// order sorts versions by their resource version. The log has them in the order of their
// answers: a version was valid at the latest when the next one was answered.
func order(all []written) []idle.Version {
	slices.SortStableFunc(all, func(a, b written) int { return cmp.Compare(a.number, b.number) })
	versions := make([]idle.Version, len(all))
	for i := range slices.Backward(all) {
		versions[i] = all[i].Version
		if i+1 < len(all) && versions[i+1].At.Before(versions[i].At) {
			versions[i].At = versions[i+1].At
		}
	}
	return versions
}
