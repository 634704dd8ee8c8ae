// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// plan adds to the selection the decisions that nodes share: the targets of their drains, and the drains
// that wait for each other.
type plan struct {
	*selection
	drains    drainplan.Result
	deadlocks deadlocks
}

// planDrains decides the targets of the current drains, and of the drains that begin now.
func planDrains(s *selection) *plan {
	nodesOf := map[string][]string{}
	var plans []drainplan.Maintenance
	var nodes []drainplan.Node
	for _, n := range s.nodes {
		drained := false
		for _, ref := range s.outFor(n) {
			m := s.byUID[ref.UID]
			if m == nil || !n.drainsFor(m, ref) {
				continue
			}
			drained = true
			name := m.planName(n.name)
			if nodesOf[name] == nil {
				plans = append(plans, drainplan.Maintenance{Name: name, Plan: m.plan})
			}
			nodesOf[name] = append(nodesOf[name], n.name)
		}
		if drained {
			nodes = append(nodes, n.inPlan())
		}
	}
	for i := range plans {
		plans[i].Nodes = nodesOf[plans[i].Name]
	}
	return &plan{selection: s, drains: drainplan.Next(plans, nodes), deadlocks: s.findDeadlocks()}
}

// outFor returns the maintenances that use the drain of a node, and the maintenances that begin with it now.
func (s *selection) outFor(n *node) []Ref { return slices.Concat(n.refs, s.begins[n.name]) }

// planOf returns the steps of a maintenance. With a rollout, nodes do not wait for each other.
func planOf(m *slipwayv1alpha1.NodeMaintenance) []slipwayv1alpha1.DrainTarget {
	steps := drainplan.Complete(m.Spec.DrainPlan)
	if m.Spec.Rollout != nil {
		return drainplan.Alone(steps)
	}
	return steps
}

// planName returns the name of a maintenance in package drainplan. With a rollout, each node has its own
// plan: with a common plan, the first nodes would wait for the last ones.
func (m *maintenance) planName(node string) string {
	if m.Spec.Rollout == nil {
		return m.Name
	}
	return m.Name + "/" + node
}

// rolloutSuffix matches the node in a planName.
var rolloutSuffix = regexp.MustCompile(`/[-a-z0-9.]*[a-z0-9]`)

// readable removes the nodes from a message of package drainplan.
func readable(message string) string { return rolloutSuffix.ReplaceAllLiteralString(message, "") }

func (n *node) inPlan() drainplan.Node {
	if n.drain == nil {
		return drainplan.Node{Name: n.name}
	}
	return drainplan.Node{Name: n.name, Targets: targetsOf(n.drain), Reached: reached(n.drain)}
}

// drainsFor reports whether the drain of a node serves a maintenance.
func (n *node) drainsFor(m *maintenance, ref Ref) bool {
	if n.back != nil || n.drain != nil && ended(n.drain) || ref.Released {
		return false
	}
	return m.drains() && m.selects(n) && n.recordOf(m) == nil
}

// parameters returns the new parameters of the drain of a node. changed is its event before the write;
// nil, if it does not exist yet.
func (p *plan) parameters(n *node, changed *lifecyclev1alpha1.LifecycleEvent) slipwayv1alpha1.DrainParameters {
	targets := n.withheld(p.wantedTargets(n))
	if changed != nil {
		targets = alternated(changed, targets)
	}
	wanted := drainParameters(targets, p.demands(n))
	wanted.Hold = true
	return wanted
}

func drainParameters(targets []slipwayv1alpha1.DrainTarget, d slipwayv1alpha1.MaintenanceDrain) slipwayv1alpha1.DrainParameters {
	return slipwayv1alpha1.DrainParameters{
		TypeMeta: metav1.TypeMeta{APIVersion: slipwayv1alpha1.GroupVersion.String(), Kind: "DrainParameters"}, Targets: targets,
		Mode: d.Mode, GracePeriodSeconds: d.GracePeriodSeconds, PodTimeout: d.PodTimeout,
		UnmanagedPods: d.UnmanagedPods, LocalStorage: d.LocalStorage, VolumeTimeout: d.VolumeTimeout, Escalation: d.Escalation,
	}
}

// wantedTargets returns the targets for the drain of a node, now or once the Node keeps pods away. A drain
// that must not continue keeps its targets.
func (p *plan) wantedTargets(n *node) []slipwayv1alpha1.DrainTarget {
	planned, drains := p.drains.Targets[n.name]
	lost := p.barred(n).reason != ""
	switch {
	case n.drain == nil && drains:
		return planned
	case n.drain == nil:
		return drainplan.NoPods()
	}
	have := distinct(ParametersOf(n.drain).Targets)
	switch {
	case drains && (lost || p.pausedFor(n)) && claimed(n.drain):
		return have
	case drains:
		return planned
	case !reached(n.drain) || len(have) == 0: // no maintenance wants it to continue
		return drainplan.NoPods()
	default:
		return have
	}
}

// progress returns the progress of a maintenance through its plan: with a rollout, of the named node that
// has reached the least.
func (p *plan) progress(m *maintenance, nodes map[string]nodeStatus) (least drainplan.Progress, found bool) {
	if m.Spec.Rollout == nil {
		least, found = p.drains.Progress[m.Name]
		return least, found
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		progress, is := p.drains.Progress[m.planName(name)]
		if is && (!found || progress.Behind(least)) {
			least, found = progress, true
		}
	}
	return least, found
}

// A drain cordons its node, and it starts again when its parameters change. So if a third party uncordons
// a node that is out of service, the targets change to equivalent ones (KEP-4212): the first target is
// repeated, or the repetition is removed.

// AnnotationCordonedAgain on the event of a node's drain counts how often the drain has cordoned the node
// again, with the last time.
const AnnotationCordonedAgain = "slipway.dev/cordoned-again"

func cordonedAgain(e *lifecyclev1alpha1.LifecycleEvent) (times int, last time.Time) {
	var at string
	_, err := fmt.Sscanf(e.Annotations[AnnotationCordonedAgain], "%d %s", &times, &at)
	last, invalid := time.Parse(time.RFC3339, at)
	if err != nil || invalid != nil || times < 0 {
		return 0, time.Time{}
	}
	return times, last
}

// alternated returns equivalent targets, which differ from the previous ones each time that the drain
// cordons the node again.
func alternated(e *lifecyclev1alpha1.LifecycleEvent, targets []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	if times, _ := cordonedAgain(e); times%2 == 0 || len(targets) == 0 {
		return targets
	}
	return slices.Insert(slices.Clone(targets), 0, targets[0])
}

// distinct removes the repetition of alternated.
func distinct(targets []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	return slices.CompactFunc(slices.Clone(targets), func(a, b slipwayv1alpha1.DrainTarget) bool {
		return equality.Semantic.DeepEqual(a, b)
	})
}
