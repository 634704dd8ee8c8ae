// SPDX-License-Identifier: Apache-2.0

package rollout

// Next is who begins now. It gives the same whatever the order of what it gets.
//
// Workers come first, and the control plane when none of them waits any more: one of its
// nodes at a time, whoever takes them out. Nodes that are down already come before others,
// as they cost nothing: the limits on how many may be out do not hold them back. Then come
// those that share no disruption budget with a node that is out, by name, and then the rest.
//
// With a topology key and no perDomain, a domain is finished before the next begins, by
// name: none of its nodes waits, is out or is down. Those of the control plane that wait do
// not hold the domains of workers up, and their own turn comes domain by domain as well.
// What has failed and takes pods holds nothing up but by failureThreshold.
func Next(f Facts) Decision {
	s := survey(f)
	if len(s.waiting) == 0 {
		return Decision{}
	}
	if reason, message := s.brake(); reason != "" {
		return Decision{Reason: reason, Message: message}
	}
	var d Decision
	for len(s.waiting) > 0 {
		n, held := s.choose()
		if n == nil {
			d.Reason, d.Message = held.reason, held.message
			break
		}
		s.begin(n)
		d.Begin = append(d.Begin, n.Name)
	}
	return d
}
