// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Next returns what is to be done now, for all maintenances and nodes.
//
// It decides for each node by itself, but for three things that nodes share: which of them begin
// (package rollout), how far their drains go (package drainplan), and which of them wait for each
// other (package deadlock).
func Next(f Facts, now time.Time) Decision {
	v := newView(f, now)
	s := selectNodes(v)
	p := planDrains(s)

	d := Decision{Statuses: map[types.UID]slipwayv1alpha1.NodeMaintenanceStatus{}}
	d.WatchKeptAway, d.Starving = len(f.KeptAway) > 0, p.deadlocks.asks
	s.asks(&d)
	outcomes := map[string]outcome{}
	for _, n := range p.nodes {
		o, watch := p.nextOf(n)
		outcomes[n.name] = o
		d.Steps = append(d.Steps, o.steps...)
		d.WatchKeptAway = d.WatchKeptAway || watch
		if o.check {
			d.Check = append(d.Check, n.name)
		}
	}
	d.Steps = slices.Concat(d.Steps, p.lift(), p.tidyJobs())
	var announced []Step
	for _, m := range p.maintenances {
		d.Steps = append(d.Steps, p.keepFinalizer(m)...)
		status := p.status(p.reportOn(m, outcomes))
		if !equality.Semantic.DeepEqual(status, m.Status) {
			d.Statuses[m.UID] = status
			announced = append(announced, m.announce(status)...)
		}
	}
	d.Steps = append(announced, d.Steps...)
	d.Wake = v.alarm.next
	return d
}
