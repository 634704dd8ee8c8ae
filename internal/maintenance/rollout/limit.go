// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// limit is how many of the selected nodes may be out. With perDomain, maxUnavailable limits
// only if it is set.
func (s *state) limit() int {
	most := s.rollout.MaxUnavailable
	switch {
	case most == nil && s.rollout.PerDomain != nil:
		return math.MaxInt
	case most == nil:
		return 1
	}
	count, err := intstr.GetScaledValueFromIntOrPercent(most, len(s.nodes), false)
	if err != nil {
		return 1 // what the API server refuses
	}
	return max(1, count)
}

func (s *state) full() bool {
	return len(s.out) >= s.limit()
}

// mayBegin says whether no more nodes than may be out have begun, whether they were down then
// or not.
func (s *state) mayBegin(domain string) bool {
	begun := slices.Concat(s.before, s.begun)
	inDomain := among(begun, func(n *Node) bool { return n.Domain == domain })
	return len(begun) < s.limit() && (s.rollout.PerDomain == nil || len(inDomain) < int(*s.rollout.PerDomain))
}

func (s *state) whyFull() hold {
	value := "1 by default"
	if s.rollout.MaxUnavailable != nil {
		value = s.rollout.MaxUnavailable.String()
	}
	return unavailable("%d of %s may be out (maxUnavailable %s), and %s: %s",
		s.limit(), nodes(len(s.nodes)), value, are(len(s.out)), list(s.out))
}

func (s *state) domainFull(domain string) bool {
	return s.rollout.PerDomain != nil && s.outIn[domain] >= int(*s.rollout.PerDomain)
}

func (s *state) whyDomainFull(domain string) hold {
	out := among(s.out, func(n *Node) bool { return n.Domain == domain })
	return unavailable("%d of %s may be out (perDomain), and %s: %s",
		*s.rollout.PerDomain, s.naming(domain), are(len(out)), list(out))
}
