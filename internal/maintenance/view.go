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
)

// view has the facts in the form in which all later stages use them. Nothing changes it once
// newView has returned.
type view struct {
	facts        Facts
	alarm        *alarm
	maintenances []*maintenance // the oldest first
	byUID        map[types.UID]*maintenance
	nodes        []*node // by name
	byName       map[string]*node
	jobs         map[string]*batchv1.Job
}

// maintenance is a NodeMaintenance with its selector and its plan parsed.
type maintenance struct {
	*slipwayv1alpha1.NodeMaintenance
	plan     []slipwayv1alpha1.DrainTarget
	selector *nodeaffinity.NodeSelector
	invalid  error   // of the selector
	selected []*node // by name
}

// node is a Node with the LifecycleEvents that take it out and return it to service.
type node struct {
	name string
	Node // without a corev1.Node if that was deleted
	// drain and back are the events of its drain and of its return; nil if there is none that
	// this controller still has to look after.
	drain, back *lifecyclev1alpha1.LifecycleEvent
	// leftover are events of these names whose outcome is recorded.
	leftover []*lifecyclev1alpha1.LifecycleEvent
	// refs are the maintenances that the node is out for.
	refs []Ref
	// behind are the nodes whose drains have to end before this one begins again, after it gave
	// way in a deadlock. helped is when a node last gave way to this one.
	behind []string
	helped time.Time
}

// cause is a reason code with a message for people. Without a code, there is no cause.
type cause struct{ reason, message string }

// alarm has the time of this decision, and collects when the next one is due.
type alarm struct{ now, next time.Time }

// passed reports whether a time has come. If it has not, the next decision is due then.
func (a *alarm) passed(at time.Time) bool {
	if !a.now.Before(at) {
		return true
	}
	if a.next.IsZero() || at.Before(a.next) {
		a.next = at
	}
	return false
}

// second is the current time as the API can store it.
func (v *view) second() metav1.Time { return metav1.NewTime(v.alarm.now.Truncate(time.Second)) }

func newView(f Facts, now time.Time) *view {
	v := &view{facts: f, alarm: &alarm{now: now}, byUID: map[types.UID]*maintenance{}, byName: map[string]*node{}, jobs: map[string]*batchv1.Job{}}
	for _, each := range f.Nodes {
		v.byName[each.Name] = &node{name: each.Name, Node: each}
	}
	for _, e := range f.Events {
		v.addEvent(e)
	}
	for _, n := range v.byName {
		if e := cmp.Or(n.back, n.drain); e != nil {
			n.refs = Refs(e)
		}
		v.nodes = append(v.nodes, n)
	}
	slices.SortFunc(v.nodes, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for _, m := range f.Maintenances {
		v.addMaintenance(m)
	}
	slices.SortFunc(v.maintenances, func(a, b *maintenance) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, j := range f.Jobs {
		v.jobs[j.Name] = j
	}
	v.findYielding()
	return v
}

// addEvent adds an event to its node, or to one that was deleted.
func (v *view) addEvent(e *lifecyclev1alpha1.LifecycleEvent) {
	name := e.Spec.BindingNode
	isDrain := e.Name == DrainName(name)
	if !isDrain && e.Name != ReturnName(name) {
		return // it has the label, but another controller created it
	}
	n := v.byName[name]
	if n == nil {
		n = &node{name: name}
		v.byName[name] = n
	}
	switch {
	case !unsettled(e):
		n.leftover = append(n.leftover, e)
	case isDrain:
		n.drain = e
	default:
		n.back = e
	}
}

func (v *view) addMaintenance(of *slipwayv1alpha1.NodeMaintenance) {
	m := &maintenance{NodeMaintenance: of, plan: planOf(of)}
	m.selector, m.invalid = nodeaffinity.NewNodeSelector(&of.Spec.NodeSelector)
	for _, n := range v.nodes {
		if n.exists() && m.selects(n) {
			m.selected = append(m.selected, n)
		}
	}
	v.maintenances = append(v.maintenances, m)
	v.byUID[m.UID] = m
}

// returns reports whether all nodes of the maintenance are to return to service.
func (m *maintenance) returns() bool {
	return m.Spec.Stage == slipwayv1alpha1.StageComplete || m.DeletionTimestamp != nil
}

// works reports whether nodes may be out for the maintenance.
func (m *maintenance) works() bool {
	return !m.returns() && (m.Spec.Stage == slipwayv1alpha1.StageCordon || m.Spec.Stage == slipwayv1alpha1.StageDrain)
}

func (m *maintenance) drains() bool {
	return !m.returns() && m.Spec.Stage == slipwayv1alpha1.StageDrain
}

// selects reports whether the maintenance selects a node. While its selector is invalid, it
// keeps the nodes that are out.
func (m *maintenance) selects(n *node) bool {
	if m.invalid != nil {
		return refOf(n.refs, m.UID) != nil
	}
	return n.exists() && m.selector.Match(n.Node.Node)
}

func (m *maintenance) finalized() bool {
	return slices.Contains(m.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
}

// began returns when a stage began; zero, if it has not.
func (m *maintenance) began(stage slipwayv1alpha1.MaintenanceStage) time.Time {
	i := slices.IndexFunc(m.Status.StageStatuses, func(s slipwayv1alpha1.MaintenanceStageStatus) bool { return s.Name == stage })
	if i < 0 {
		return time.Time{}
	}
	return m.Status.StageStatuses[i].StartTimestamp.Time
}

// returnsSince returns since when all nodes of the maintenance are to return; zero, if they are
// not.
func (m *maintenance) returnsSince() time.Time {
	if m.DeletionTimestamp != nil {
		return m.DeletionTimestamp.Time
	}
	return m.began(slipwayv1alpha1.StageComplete)
}

// completedSince returns since when the maintenance is in stage Complete; now, if the status
// does not say so yet.
func (v *view) completedSince(m *maintenance) time.Time {
	if at := m.began(slipwayv1alpha1.StageComplete); !at.IsZero() {
		return at
	}
	return v.second().Time
}

func (m *maintenance) workType() slipwayv1alpha1.WorkType {
	if m.Spec.Work == nil {
		return slipwayv1alpha1.WorkManual
	}
	return m.Spec.Work.Type
}

// template returns the PodTemplate that the maintenance needs; empty, if it needs none.
func (m *maintenance) template() string {
	if m.Spec.Rollout == nil || m.workType() != slipwayv1alpha1.WorkJob {
		return ""
	}
	return m.Spec.Work.PodTemplate
}

// hasHooks reports whether the maintenance has hooks at a point.
func (m *maintenance) hasHooks(at slipwayv1alpha1.HookPoint) bool {
	return slices.ContainsFunc(m.Spec.Hooks, func(hook slipwayv1alpha1.MaintenanceHook) bool { return hook.At == at })
}

func (m *maintenance) allows(guard slipwayv1alpha1.MaintenanceGuard) bool {
	return slices.Contains(m.Spec.Allow, guard)
}

// pausedFor reports whether a maintenance that the node is out for is paused.
func (v *view) pausedFor(n *node) bool {
	return slices.ContainsFunc(n.refs, func(ref Ref) bool {
		m := v.byUID[ref.UID]
		return m != nil && m.Spec.Paused && !m.returns()
	})
}

// awaitsDone reports whether the annotation that says that the work is done is meant for another
// maintenance than this one, which has not taken it in yet.
func (v *view) awaitsDone(n *node, except types.UID) bool {
	return slices.ContainsFunc(n.refs, func(ref Ref) bool {
		m := v.byUID[ref.UID]
		return m != nil && m.UID != except && m.works() && m.Spec.Rollout != nil && m.workType() == slipwayv1alpha1.WorkManual &&
			n.recordOf(m) == nil && ref.Worked.IsZero()
	})
}

const labelControlPlane = "node-role.kubernetes.io/control-plane"

// exists reports whether there is a Node.
func (n *node) exists() bool { return n.Node.Node != nil }

func (n *node) controlPlane() bool {
	_, found := n.Labels[labelControlPlane]
	return found
}

// ready reports whether the kubelet says that the node is Ready.
func (n *node) ready() bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// untouched reports whether nothing has cordoned the node yet: its drain is not claimed.
func (n *node) untouched() bool { return n.drain != nil && n.back == nil && pending(n.drain) }

// uncordoned reports whether a third party has uncordoned a node that is cordoned for its drain.
func (n *node) uncordoned() bool {
	return claimed(n.drain) && !n.Spec.Unschedulable && slices.Contains(n.CordonedFor, n.drain.UID)
}

// recordOf returns how a maintenance is done with the node, as the Node says. It leaves out a
// failure from before spec.retry was raised, and a node that gave way.
func (n *node) recordOf(m *maintenance) *Record {
	r := rawRecord(n.Records, m.UID)
	if r != nil && (r.State == RecordFailed && r.Retry < m.Spec.Retry || r.State == RecordHeldBack) {
		return nil
	}
	return r
}

// rawRecord returns the record of a maintenance, even if it does not count any more.
func rawRecord(records []Record, uid types.UID) *Record {
	i := slices.IndexFunc(records, func(r Record) bool { return r.UID == uid })
	if i < 0 {
		return nil
	}
	return &records[i]
}

// cordonedFor reports whether the Node is still cordoned for the drain of a record.
func (n *node) cordonedFor(r Record) bool {
	return r.Cordon != "" && slices.Contains(n.CordonedFor, r.Cordon)
}

// givenUp reports whether a node whose return failed is left as it is. The return is tried again
// once when the maintenance is to return its nodes, and with each retry.
func (m *maintenance) givenUp(r Record) bool {
	return r.Reason == slipwayv1alpha1.ReasonReturnFailed && r.Retry >= m.Spec.Retry && !r.At.Before(m.returnsSince())
}

// stillOut reports whether the node is out for a maintenance, or still cordoned for a drain of it
// that has ended.
func (n *node) stillOut(m *maintenance) bool {
	r := rawRecord(n.Records, m.UID)
	return refOf(n.refs, m.UID) != nil || r != nil && n.cordonedFor(*r)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
