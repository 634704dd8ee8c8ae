// SPDX-License-Identifier: Apache-2.0

package rollout

// Next is who begins now. It gives the same whatever the order of what it gets.
//
// Workers come first, and the control plane when none of them waits or is at work any more:
// one of its nodes at a time, whoever takes them out. Nodes that are down already come before
// others, as they cost nothing: the limits on how many may be out do not hold them back. Then
// come those that share no disruption budget with a node that is out, by name, and then the
// rest.
//
// With a topology key and no perDomain, a domain is finished before the next begins, by name:
// none of its nodes waits, is out or is down. One that has begun comes before those that
// have something to do again. Nodes of the control plane that wait do not hold the domains of
// workers up; their turn comes domain by domain as well.
//
// With perDomain, maxUnavailable limits only if it is set. A batch is over when none of its
// nodes is out. With pauseAfter, no more begin than are to return before the pause. A node
// that has failed and takes pods holds nothing up but by failureThreshold.
func Next(f Facts) Decision {
	s := survey(f)
	if len(s.waiting) == 0 {
		return Decision{}
	}
	d := Decision{Budgets: s.asksBudgets()}
	if h, brakes := s.brake(); brakes {
		d.Reason, d.Message = h.reason, h.message
		return d
	}
	for len(s.waiting) > 0 {
		n, h := s.choose()
		if n == nil {
			d.Reason, d.Message = h.reason, h.message
			break
		}
		s.begin(n)
		d.Begin = append(d.Begin, n.Name)
	}
	return d
}
