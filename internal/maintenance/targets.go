// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// plan adds to the selection what nodes share besides: how far their drains go, and which of
// these wait for each other.
type plan struct {
	*selection
	drains    drainplan.Result
	deadlocks deadlocks
}

// planDrains finds how far the drains go: of the nodes that are being drained, and of those that
// begin now.
func planDrains(s *selection) *plan {
	plans := map[string]*drainplan.Maintenance{}
	var order []string
	var nodes []drainplan.Node
	for _, n := range s.nodes {
		drained := false
		for _, ref := range s.outFor(n) {
			m := s.byUID[ref.UID]
			if m == nil || !n.drainsFor(m, ref) {
				continue
			}
			drained = true
			key := m.planName(n.name)
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
	return &plan{selection: s, drains: drainplan.Next(all, nodes), deadlocks: s.findDeadlocks()}
}

// outFor returns the maintenances that the node is out for, and those that take it up now.
func (s *selection) outFor(n *node) []Ref { return slices.Concat(n.refs, s.begins[n.name]) }

// planOf returns the steps of a maintenance. With a rollout, the nodes do not wait for each other.
func planOf(m *slipwayv1alpha1.NodeMaintenance) []slipwayv1alpha1.DrainTarget {
	steps := drainplan.Complete(m.Spec.DrainPlan)
	if m.Spec.Rollout != nil {
		return drainplan.Alone(steps)
	}
	return steps
}

// planName returns the name of a maintenance in package drainplan. With a rollout, each node has
// a plan of its own: in step, the nodes that began first would wait for those that began last.
func (m *maintenance) planName(node string) string {
	if m.Spec.Rollout == nil {
		return m.Name
	}
	return m.Name + "/" + node
}

// rolloutSuffix is what planName adds to the name of a maintenance.
var rolloutSuffix = regexp.MustCompile(`/[-a-z0-9.]*[a-z0-9]`)

// readable leaves the nodes out of a message of package drainplan.
func readable(message string) string { return rolloutSuffix.ReplaceAllLiteralString(message, "") }

func (n *node) inPlan() drainplan.Node {
	if n.drain == nil {
		return drainplan.Node{Name: n.name}
	}
	return drainplan.Node{Name: n.name, Targets: targetsOf(n.drain), Reached: reached(n.drain)}
}

// drainsFor reports whether the node is being drained for a maintenance.
func (n *node) drainsFor(m *maintenance, ref Ref) bool {
	if n.back != nil || n.drain != nil && ended(n.drain) || ref.Released {
		return false
	}
	return m.drains() && m.selects(n) && n.recordOf(m) == nil
}

// parameters returns what the drain of a node is to be asked for now. changed is its event as it
// is about to be written; nil, if it is yet to be created.
func (p *plan) parameters(n *node, changed *lifecyclev1alpha1.LifecycleEvent) slipwayv1alpha1.DrainParameters {
	wanted := slipwayv1alpha1.DrainParameters{Hold: true, Targets: n.withheld(p.wantedTargets(n))}
	if changed != nil {
		wanted.Targets = alternated(changed, wanted.Targets)
	}
	wanted.APIVersion, wanted.Kind = slipwayv1alpha1.GroupVersion.String(), "DrainParameters"
	for _, ref := range p.outFor(n) {
		if m := p.byUID[ref.UID]; m != nil && m.Spec.Drain != nil {
			setHow(&wanted, m.Spec.Drain)
			break // the oldest that says how pods leave
		}
	}
	return wanted
}

// setHow lets pods leave as a maintenance asks.
func setHow(wanted *slipwayv1alpha1.DrainParameters, how *slipwayv1alpha1.MaintenanceDrain) {
	d := how.DeepCopy()
	wanted.Mode, wanted.GracePeriodSeconds, wanted.PodTimeout = d.Mode, d.GracePeriodSeconds, d.PodTimeout
	wanted.UnmanagedPods, wanted.LocalStorage, wanted.VolumeTimeout = d.UnmanagedPods, d.LocalStorage, d.VolumeTimeout
}

// wantedTargets returns the targets that the drain of a node is to have, now or once the Node says
// what it keeps away. A drain that must not go on keeps those that it has.
func (p *plan) wantedTargets(n *node) []slipwayv1alpha1.DrainTarget {
	planned, drains := p.drains.Targets[n.name]
	lost := p.leaseLost(n).reason != ""
	switch {
	case n.drain == nil && drains:
		return planned
	case n.drain == nil:
		return drainplan.NoPods()
	}
	have := distinct(parametersOf(n.drain).Targets)
	switch {
	case drains && (lost || p.pausedFor(n)) && claimed(n.drain):
		return have
	case drains:
		return planned
	case !reached(n.drain) || len(have) == 0:
		return drainplan.NoPods() // no maintenance wants it to go on
	default:
		return have
	}
}

// progress returns how far the plan of a maintenance is: with a rollout, on the node that is the
// least far of those that are named.
func (p *plan) progress(m *maintenance, nodes map[string]nodeStatus) (least drainplan.Progress, found bool) {
	if m.Spec.Rollout == nil {
		least, found = p.drains.Progress[m.Name]
		return least, found
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		progress, is := p.drains.Progress[m.planName(name)]
		if is && (!found || lessFar(progress, least)) {
			least, found = progress, true
		}
	}
	return least, found
}

// lessFar compares what two nodes have reached of the same plan: it grows with each type of pods,
// and then by their priorities.
func lessFar(a, b drainplan.Progress) bool {
	priorities := func(progress drainplan.Progress) (sum int64) {
		for _, t := range progress.Reached {
			if t.PodPriority != nil {
				sum += int64(*t.PodPriority)
			}
		}
		return sum
	}
	return cmp.Or(cmp.Compare(len(a.Reached), len(b.Reached)), cmp.Compare(priorities(a), priorities(b))) < 0
}

// A drain cordons its node, and it begins anew when its parameters change. So where a third party
// uncordons a node that is out, the targets change to ones that mean the same (KEP-4212): the
// first of them is there twice, or is not.

// AnnotationCordonedAgain on the event of a node's drain says how often the node was cordoned
// again, and when last.
const AnnotationCordonedAgain = "slipway.dev/cordoned-again"

func cordonedAgain(e *lifecyclev1alpha1.LifecycleEvent) (times int, last time.Time) {
	count, at, _ := strings.Cut(e.Annotations[AnnotationCordonedAgain], " ")
	times, err := strconv.Atoi(count)
	if err != nil || times < 0 {
		return 0, time.Time{}
	}
	last, err = time.Parse(time.RFC3339, at)
	if err != nil {
		return 0, time.Time{}
	}
	return times, last
}

// alternated returns targets that mean the same, and differ from those before each time that the
// node is to be cordoned again.
func alternated(e *lifecyclev1alpha1.LifecycleEvent, targets []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	if times, _ := cordonedAgain(e); times%2 == 0 || len(targets) == 0 {
		return targets
	}
	return slices.Insert(slices.Clone(targets), 0, targets[0])
}

// distinct takes back what alternated did.
func distinct(targets []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	return slices.CompactFunc(slices.Clone(targets), func(a, b slipwayv1alpha1.DrainTarget) bool {
		return equality.Semantic.DeepEqual(a, b)
	})
}
