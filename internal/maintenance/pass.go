// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
)

// pass is one look at everything. The facts are never changed; what is to become of them is
// next to them.
type pass struct {
	facts        Facts
	now          time.Time
	maintenances []*maintained // the oldest first
	byUID        map[types.UID]*maintained
	nodes        []*node // by name
	byName       map[string]*node
	jobs         map[string]*batchv1.Job
	planned      drainplan.Result
	// told is what the new statuses show and the old ones did not.
	told     []Step
	decision Decision
}

// maintained is a maintenance, and what has been found out about it.
type maintained struct {
	*slipwayv1alpha1.NodeMaintenance
	plan     []slipwayv1alpha1.DrainTarget
	selector *nodeaffinity.NodeSelector
	invalid  error
	// selected are its nodes, by name.
	selected []*node
	// refusal is a reason and a message; empty, if it is accepted.
	refusal reasoned
	// holdUp is why none of its nodes begins at all; empty, if they may.
	holdUp reasoned
	// unleasedWait: nodes wait for their turn that nobody else has leased.
	unleasedWait bool
	// rollout says who begins.
	rollout rollout.Decision
	// deadlock is what is to be said of nodes of its that wait for each other.
	deadlock reasoned
	// places are where its nodes are: those that are selected, and those that are out for it.
	places map[string]place
}

// reasoned is a code, and a message for people.
type reasoned struct{ reason, message string }

// place is where a node is for a maintenance, for people.
type place struct {
	phase slipwayv1alpha1.MaintenanceNodePhase
	reasoned
	since time.Time
	// pods that are still to leave.
	pods int32
	// reached: it is drained.
	drained bool
	// inStep: it has done what it is to do by now, and without a rollout waits for the others.
	inStep bool
}

// node is a Node, with the events that take it out and put it back.
type node struct {
	name string
	Node // without a corev1.Node if it is gone
	// drain and back are the two events; nil if there is none that is ours to look after.
	drain, back *lifecyclev1alpha1.LifecycleEvent
	// leftover are those of their names that we are done with.
	leftover []*lifecyclev1alpha1.LifecycleEvent
	// fors are the maintenances that it is out for.
	fors []For
	// begin are those that take it up now.
	begin []For
	// work is the name of a Job that is begun.
	work string
	// refused is what the API server has against the node's next step.
	refused string
	// deadlock is what is to be said of its drain, behind are the nodes whose drains are to
	// end before it begins anew, and helped is when a node last gave way to it.
	deadlock reasoned
	behind   []string
	helped   time.Time
	// records are what is to be recorded.
	records []Record
}

func newPass(f Facts, now time.Time) *pass {
	p := &pass{
		facts: f, now: now, byUID: map[types.UID]*maintained{}, byName: map[string]*node{}, jobs: map[string]*batchv1.Job{},
		decision: Decision{Statuses: map[types.UID]slipwayv1alpha1.NodeMaintenanceStatus{}},
	}
	for _, m := range f.Maintenances {
		each := &maintained{NodeMaintenance: m, plan: planOf(m), places: map[string]place{}}
		each.selector, each.invalid = nodeaffinity.NewNodeSelector(&m.Spec.NodeSelector)
		p.maintenances = append(p.maintenances, each)
		p.byUID[m.UID] = each
	}
	slices.SortFunc(p.maintenances, func(a, b *maintained) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, each := range f.Nodes {
		p.byName[each.Name] = &node{name: each.Name, Node: each, records: each.Records}
	}
	for _, e := range f.Events {
		p.addEvent(e)
	}
	for _, n := range p.byName {
		n.fors = slices.Clone(forsOf(n))
		p.nodes = append(p.nodes, n)
	}
	slices.SortFunc(p.nodes, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for _, j := range f.Jobs {
		p.jobs[j.Name] = j
	}
	return p
}

// addEvent gives an event to its node, or to one that is gone.
func (p *pass) addEvent(e *lifecyclev1alpha1.LifecycleEvent) {
	name := e.Spec.BindingNode
	isDrain := e.Name == DrainName(name)
	if !isDrain && e.Name != ReturnName(name) {
		return // with our label, but not ours
	}
	n := p.byName[name]
	if n == nil {
		n = &node{name: name}
		p.byName[name] = n
	}
	switch {
	case !ours(e):
		n.leftover = append(n.leftover, e)
	case isDrain:
		n.drain = e
	default:
		n.back = e
	}
}

func forsOf(n *node) []For {
	switch {
	case n.back != nil:
		return ForsOf(n.back)
	case n.drain != nil:
		return ForsOf(n.drain)
	default:
		return nil
	}
}

// exists says whether there is a Node.
func (n *node) exists() bool { return n.Node.Node != nil }

// busy says whether it is out, or about to be.
func (n *node) busy() bool { return n.drain != nil || n.back != nil || len(n.begin) > 0 }

// controlPlane says whether it is of the control plane.
func (n *node) controlPlane() bool {
	_, found := n.Labels[labelControlPlane]
	return found
}

const labelControlPlane = "node-role.kubernetes.io/control-plane"

// ready says whether the kubelet says so.
func (n *node) ready() bool {
	return conditionOf(n.Node.Node, corev1.NodeReady) == corev1.ConditionTrue
}

func conditionOf(n *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == kind {
			return n.Status.Conditions[i].Status
		}
	}
	return corev1.ConditionUnknown
}

// do adds a step.
func (p *pass) do(step Step) {
	p.decision.Steps = append(p.decision.Steps, step)
	p.refuse(step)
}

// wakeAt has Next asked again at a time, if that is still to come.
func (p *pass) wakeAt(at time.Time) {
	if at.After(p.now) && (p.decision.Wake.IsZero() || at.Before(p.decision.Wake)) {
		p.decision.Wake = at
	}
}

// second is now, as the API can hold it.
func (p *pass) second() metav1.Time { return metav1.NewTime(p.now.Truncate(time.Second)) }

// returns says whether all nodes of the maintenance are to return.
func (m *maintained) returns() bool {
	return m.Spec.Stage == slipwayv1alpha1.StageComplete || m.DeletionTimestamp != nil
}

// works says whether nodes may be out for it.
func (m *maintained) works() bool {
	return !m.returns() && (m.Spec.Stage == slipwayv1alpha1.StageCordon || m.Spec.Stage == slipwayv1alpha1.StageDrain)
}

func (m *maintained) drains() bool { return !m.returns() && m.Spec.Stage == slipwayv1alpha1.StageDrain }

// selects says whether a node is one of its own. A selector that cannot be read lets go of
// no node that is out.
func (m *maintained) selects(n *node) bool {
	if m.invalid != nil {
		return entryOf(n.fors, m.UID) != nil
	}
	return n.exists() && m.selector.Match(n.Node.Node)
}
