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
	nodeutil "k8s.io/component-helpers/node/util"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// view indexes the facts for all later stages. It does not change after newView.
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

// node is a Node with the LifecycleEvents that take it out of service and return it.
type node struct {
	name string
	Node // without a corev1.Node if that was deleted
	// drain and back are the unsettled events of its drain and of its return; nil, if they do not exist.
	drain, back *lifecyclev1alpha1.LifecycleEvent
	// leftover are settled events of these names.
	leftover []*lifecyclev1alpha1.LifecycleEvent
	// refs are the maintenances of these events.
	refs []Ref
	// behind are the nodes whose drains have to end before this node begins again, after it gave way
	// in a deadlock. helped is the last time at which another node gave way to this one.
	behind []string
	helped time.Time
}

// cause is a reason code with a message. A cause without a code does not exist.
type cause struct{ reason, message string }

// alarm has the time of this decision, and collects the time of the next one.
type alarm struct{ now, next time.Time }

// passed reports whether a time has come. Otherwise the next decision is due at that time.
func (a *alarm) passed(at time.Time) bool {
	if !a.now.Before(at) {
		return true
	}
	if a.next.IsZero() || at.Before(a.next) {
		a.next = at
	}
	return false
}

// second returns the current time in the precision of the API.
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

// addEvent adds an event to its node, which may have been deleted.
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

// works reports whether the maintenance may have nodes out of service.
func (m *maintenance) works() bool {
	return !m.returns() && (m.Spec.Stage == slipwayv1alpha1.StageCordon || m.Spec.Stage == slipwayv1alpha1.StageDrain)
}

func (m *maintenance) drains() bool {
	return !m.returns() && m.Spec.Stage == slipwayv1alpha1.StageDrain
}

// selects reports whether the maintenance selects a node. While its selector is invalid, it keeps its nodes
// out of service.
func (m *maintenance) selects(n *node) bool {
	if m.invalid != nil {
		return refOf(n.refs, m.UID) != nil
	}
	return n.exists() && m.selector.Match(n.Node.Node)
}

func (m *maintenance) finalized() bool {
	return slices.Contains(m.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
}

// began returns the start of a stage; zero, if it has not begun.
func (m *maintenance) began(stage slipwayv1alpha1.MaintenanceStage) (at time.Time) {
	if s := find(m.Status.StageStatuses, func(s slipwayv1alpha1.MaintenanceStageStatus) bool { return s.Name == stage }); s != nil {
		at = s.StartTimestamp.Time
	}
	return at
}

// neverBegan reports whether the maintenance went from Idle to Complete.
func (m *maintenance) neverBegan() bool {
	return m.Spec.Stage == slipwayv1alpha1.StageComplete && m.began(slipwayv1alpha1.StageCordon).IsZero() && m.began(slipwayv1alpha1.StageDrain).IsZero()
}

// returnsSince returns the time from which all nodes of the maintenance return; zero, if they do not.
func (m *maintenance) returnsSince() time.Time {
	if m.DeletionTimestamp != nil {
		return m.DeletionTimestamp.Time
	}
	return m.began(slipwayv1alpha1.StageComplete)
}

// completedSince returns the start of stage Complete; now, if the status does not have it yet.
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

// template returns the PodTemplate that the maintenance needs; empty, without a Job.
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

// pausedFor reports whether a maintenance of the node is paused.
func (v *view) pausedFor(n *node) bool {
	return slices.ContainsFunc(n.refs, func(ref Ref) bool {
		m := v.byUID[ref.UID]
		return m != nil && m.Spec.Paused && !m.returns()
	})
}

// awaitsDone reports whether another maintenance has yet to process the annotation that declares its work
// done.
func (v *view) awaitsDone(n *node, except types.UID) bool {
	return slices.ContainsFunc(n.refs, func(ref Ref) bool {
		m := v.byUID[ref.UID]
		return m != nil && m.UID != except && m.works() && m.Spec.Rollout != nil && m.workType() == slipwayv1alpha1.WorkManual &&
			n.recordOf(m) == nil && ref.Worked.IsZero()
	})
}

const labelControlPlane = "node-role.kubernetes.io/control-plane"

// exists reports whether the Node exists.
func (n *node) exists() bool { return n.Node.Node != nil }

func (n *node) controlPlane() bool {
	_, found := n.Labels[labelControlPlane]
	return found
}

// ready reports whether the kubelet reports the node as Ready.
func (n *node) ready() bool {
	_, c := nodeutil.GetNodeCondition(&n.Status, corev1.NodeReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// untouched reports whether no agent has claimed the drain of the node, so that it is not cordoned.
func (n *node) untouched() bool { return n.drain != nil && n.back == nil && pending(n.drain) }

// uncordoned reports whether a third party has uncordoned a node during its drain.
func (n *node) uncordoned() bool {
	return claimed(n.drain) && !n.Spec.Unschedulable && slices.Contains(n.CordonedFor, n.drain.UID)
}

// recordOf returns the record of a maintenance on the Node. It leaves out a failure from before a raise of
// spec.retry, and a node that gave way.
func (n *node) recordOf(m *maintenance) *Record {
	r := rawRecord(n.Records, m.UID)
	if r != nil && (r.State == RecordFailed && r.Retry < m.Spec.Retry || r.State == RecordHeldBack) {
		return nil
	}
	return r
}

// rawRecord returns the record of a maintenance, even if it is obsolete.
func rawRecord(records []Record, uid types.UID) *Record {
	return find(records, func(r Record) bool { return r.UID == uid })
}

// cordonedFor reports whether the Node is still cordoned for the drain of a record.
func (n *node) cordonedFor(r Record) bool {
	return r.Cordon != "" && slices.Contains(n.CordonedFor, r.Cordon)
}

// givenUp reports whether the maintenance does not repeat the failed return of a node. It repeats the return
// once when all its nodes return, and with each retry.
func (m *maintenance) givenUp(r Record) bool {
	return r.Reason == slipwayv1alpha1.ReasonReturnFailed && r.Retry >= m.Spec.Retry && !r.At.Before(m.returnsSince())
}

// stillOut reports whether a maintenance has the node out of service, or the node is still cordoned for an ended
// drain of the maintenance.
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
