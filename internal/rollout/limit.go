// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// limit is how many of the selected nodes may be out, and whether there is such a limit:
// with perDomain, there is one only if it is set.
func (s *state) limit() (int, bool) {
	most := s.rollout.MaxUnavailable
	if most == nil {
		return 1, s.rollout.PerDomain == nil
	}
	count, err := intstr.GetScaledValueFromIntOrPercent(most, len(s.nodes), false)
	if err != nil {
		return 1, true // what the API server refuses
	}
	return max(1, count), true
}

// full says why no more nodes may be out.
func (s *state) full() (hold, bool) {
	most, limited := s.limit()
	if !limited || len(s.out) < most {
		return hold{}, false
	}
	value := "1 by default"
	if s.rollout.MaxUnavailable != nil {
		value = s.rollout.MaxUnavailable.String()
	}
	return hold{slipwayv1alpha1.ReasonMaxUnavailable, fmt.Sprintf("%d of %s may be out (maxUnavailable %s), and %s: %s",
		most, nodes(len(s.nodes)), value, are(len(s.out)), list(s.out))}, true
}

// domainFull says why no more nodes of a domain may be out.
func (s *state) domainFull(domain string) (hold, bool) {
	if s.rollout.PerDomain == nil {
		return hold{}, false
	}
	out := among(s.out, func(n *Node) bool { return n.Domain == domain })
	if len(out) < int(*s.rollout.PerDomain) {
		return hold{}, false
	}
	return hold{slipwayv1alpha1.ReasonMaxUnavailable, fmt.Sprintf("%d of %s may be out (perDomain), and %s: %s",
		*s.rollout.PerDomain, s.naming(domain), are(len(out)), list(out))}, true
}
