// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"maps"
	"regexp"
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// plan finds how far the drains go: of the nodes that are being drained, and of those that
// begin now.
func (p *pass) plan() {
	plans := map[string]*drainplan.Maintenance{}
	var order []string
	var nodes []drainplan.Node
	for _, n := range p.nodes {
		drained := false
		for _, entry := range slices.Concat(n.fors, n.begin) {
			m := p.byUID[entry.UID]
			if m == nil || !p.drainsFor(n, m, entry) {
				continue
			}
			drained = true
			key := m.planName(n)
			if plans[key] == nil {
				plans[key] = &drainplan.Maintenance{Name: key, Plan: m.plan}
				order = append(order, key)
			}
			plans[key].Nodes = append(plans[key].Nodes, n.name)
		}
		if drained {
			nodes = append(nodes, n.inPlan())
		}
	}
	all := make([]drainplan.Maintenance, len(order))
	for i, key := range order {
		all[i] = *plans[key]
	}
	p.planned = drainplan.Next(all, nodes)
}

// planOf are the steps of a maintenance. Of a rollout, each node goes its own way.
func planOf(m *slipwayv1alpha1.NodeMaintenance) []slipwayv1alpha1.DrainTarget {
	plan := drainplan.Complete(m.Spec.DrainPlan)
	if m.Spec.Rollout != nil {
		return drainplan.Alone(plan)
	}
	return plan
}

func (n *node) inPlan() drainplan.Node {
	if n.drain == nil {
		return drainplan.Node{Name: n.name}
	}
	return drainplan.Node{Name: n.name, Targets: targetsOf(n.drain), Reached: reached(n.drain)}
}

// planName is the name of a maintenance in drainplan. Of a rollout, each node goes its own
// way from the drain to the return: were its nodes in step, those that began first would
// wait for those that began last.
func (m *maintained) planName(n *node) string {
	if m.Spec.Rollout == nil {
		return m.Name
	}
	return m.Name + "/" + n.name
}

// drainsFor says whether the node is being drained for a maintenance.
func (p *pass) drainsFor(n *node, m *maintained, entry For) bool {
	if n.back != nil || n.drain != nil && ended(n.drain) || entry.Released {
		return false
	}
	return m.drains() && m.selects(n) && n.recordOf(m) == nil
}

// parameters are what the drain of a node is to be asked now. What is not to go on keeps
// the targets that it has.
func (p *pass) parameters(n *node, changed *lifecyclev1alpha1.LifecycleEvent) slipwayv1alpha1.DrainParameters {
	wanted := slipwayv1alpha1.DrainParameters{Hold: true, Targets: n.withheld(p.wants(n))}
	if changed != nil {
		wanted.Targets = stirred(changed, wanted.Targets)
	}
	wanted.APIVersion, wanted.Kind = slipwayv1alpha1.GroupVersion.String(), "DrainParameters"
	for _, entry := range slices.Concat(n.fors, n.begin) {
		m := p.byUID[entry.UID]
		if m == nil || m.Spec.Drain == nil {
			continue
		}
		sayHow(&wanted, m.Spec.Drain)
		break // the first that says how pods leave
	}
	return wanted
}

// sayHow has a drain let pods leave as a maintenance says.
func sayHow(wanted *slipwayv1alpha1.DrainParameters, how *slipwayv1alpha1.MaintenanceDrain) {
	d := how.DeepCopy()
	wanted.Mode, wanted.GracePeriodSeconds, wanted.PodTimeout = d.Mode, d.GracePeriodSeconds, d.PodTimeout
	wanted.UnmanagedPods, wanted.LocalStorage, wanted.VolumeTimeout = d.UnmanagedPods, d.LocalStorage, d.VolumeTimeout
}

// wants are the targets that the drain of a node is to have, now or as soon as the Node says
// what it keeps away.
func (p *pass) wants(n *node) []slipwayv1alpha1.DrainTarget {
	planned, drains := p.planned.Targets[n.name]
	_, lost := p.lostLease(n)
	switch {
	case n.drain == nil && drains:
		return planned
	case n.drain == nil:
		return drainplan.Nothing()
	}
	have := distinct(parametersOf(n.drain).Targets)
	switch {
	case drains && (lost || p.pausedFor(n)) && claimed(n.drain):
		return have
	case drains:
		return planned
	case !reached(n.drain) || len(have) == 0:
		return drainplan.Nothing() // nobody wants it to go on
	default:
		return have
	}
}

// pausedFor says whether a maintenance that the node is out for is paused.
func (p *pass) pausedFor(n *node) bool {
	return slices.ContainsFunc(n.fors, func(entry For) bool {
		m := p.byUID[entry.UID]
		return m != nil && m.Spec.Paused && !m.returns()
	})
}

// progress is how far the plan of a maintenance is: of a rollout, on the node that is the
// least far.
func (p *pass) progress(m *maintained) (least drainplan.Progress, found bool) {
	if m.Spec.Rollout == nil {
		least, found = p.planned.Of[m.Name]
		return least, found
	}
	for _, name := range slices.Sorted(maps.Keys(m.places)) {
		progress, is := p.planned.Of[m.planName(p.byName[name])]
		if is && (!found || lessFar(progress, least)) {
			least, found = progress, true
		}
	}
	return least, found
}

// lessFar compares what two nodes have reached of the same plan: with each type of pods it
// grows, and then by their priorities.
func lessFar(a, b drainplan.Progress) bool {
	return cmp.Or(cmp.Compare(len(a.Reached), len(b.Reached)), cmp.Compare(priorities(a), priorities(b))) < 0
}

func priorities(progress drainplan.Progress) (sum int64) {
	for _, t := range progress.Reached {
		if t.PodPriority != nil {
			sum += int64(*t.PodPriority)
		}
	}
	return sum
}

// ofRollout is what planName adds to the name of a maintenance.
var ofRollout = regexp.MustCompile(`/[-a-z0-9.]*[a-z0-9]`)

// readable names the maintenances in a message of drainplan, and not their nodes.
func readable(message string) string { return ofRollout.ReplaceAllLiteralString(message, "") }
