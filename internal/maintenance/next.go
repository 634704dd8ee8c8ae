// SPDX-License-Identifier: Apache-2.0

package maintenance

import "time"

// Next is what is to be done now, for all maintenances and nodes.
//
// It looks at each node by itself, but for three things that nodes share: who begins, which
// rollout decides, how far the drains go, which drainplan decides, and which of them wait for
// each other, which deadlock finds.
func Next(f Facts, now time.Time) Decision {
	p := newPass(f, now)
	p.findHeldBack()
	for _, m := range p.maintenances {
		p.judge(m)
	}
	for _, m := range p.maintenances {
		p.begin(m)
	}
	p.plan()
	p.deadlocks()
	for _, n := range p.nodes {
		p.advance(n)
		p.record(n)
		p.mark(n)
		p.keepAway(n)
		p.showRefused(n)
	}
	p.lift()
	p.tidyJobs()
	for _, m := range p.maintenances {
		p.stage(m)
		p.report(m)
	}
	p.decision.Steps = append(p.told, p.decision.Steps...)
	return p.decision
}
