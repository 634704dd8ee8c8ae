// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	nodeutil "k8s.io/component-helpers/node/util"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Conditions of a Node.
const (
	// NodeMaintenancePlanned is True while a maintenance will take the node out of service, and while it
	// drains the node. For nodes that wait, only maintenances that select at most [MaxPlanned] nodes set
	// it, so that the number of writes does not grow with the selected nodes.
	NodeMaintenancePlanned corev1.NodeConditionType = "MaintenancePlanned"
	// NodeMaintenanceInProgress is True from the end of the drain of a maintenance until the node has
	// returned.
	NodeMaintenanceInProgress corev1.NodeConditionType = "MaintenanceInProgress"
)

// Reasons of these conditions: the cause of the maintenance (KEP-5683), or that there is none.
const (
	ReasonMaintenanceWindow = "MaintenanceWindow"
	ReasonAdminRequested    = lifecyclev1alpha1.NodeReasonAdminRequested
	ReasonNoMaintenance     = "NoMaintenance"
)

// MaxPlanned limits the selected nodes of a maintenance that sets NodeMaintenancePlanned.
const MaxPlanned = 100

// markSteps sets the conditions of a Node. A Node without these conditions stays without them until it has a
// maintenance. refused: the API server refuses its event.
func (p *plan) markSteps(n *node, refused bool) []Step {
	begins := p.begins[n.name]
	if n.drain == nil && n.back == nil && len(begins) > 0 && !refused {
		return nil // once its event exists
	}
	var planned, started []*maintenance
	for _, m := range p.maintenances {
		out := refOf(n.refs, m.UID) != nil || n.drain != nil && refOf(begins, m.UID) != nil
		switch {
		case out && p.hasDrained(m, n):
			started = append(started, m)
		case out && (m.returns() || n.recordOf(m) != nil): // canceled, or failed
		case out, p.plans(m, n):
			planned = append(planned, m)
		}
	}
	marks := slices.Concat(p.mark(n, NodeMaintenancePlanned, planned), p.mark(n, NodeMaintenanceInProgress, started))
	if len(marks) == 0 {
		return nil
	}
	return []Step{MarkNode{Node: n.name, Conditions: marks}}
}

// hasDrained reports whether the drain of a node that is out of service for the maintenance has ended,
// or holds the node.
func (p *plan) hasDrained(m *maintenance, n *node) bool {
	c := find(p.claims[n.name], func(c claim) bool { return c.UID == m.UID })
	return n.back != nil || n.drain != nil && n.drain.Status.ClaimStatus == lifecyclev1alpha1.Succeeded || c != nil && c.drained
}

// plans reports whether the maintenance will take the node out of service.
func (p *plan) plans(m *maintenance, n *node) bool {
	t := p.of[m.UID]
	return !m.returns() && (m.finalized() || !m.works()) && t.refusal.reason == "" && len(m.selected) <= MaxPlanned &&
		t.holdUp.reason != slipwayv1alpha1.ReasonWindowOver && m.selects(n) && n.recordOf(m) == nil
}

// mark returns a condition, if the Node does not have it yet. The time of its transition changes only with its
// status.
func (v *view) mark(n *node, kind corev1.NodeConditionType, all []*maintenance) []corev1.NodeCondition {
	now := metav1.NewTime(v.alarm.now)
	want := corev1.NodeCondition{
		Type: kind, Status: corev1.ConditionFalse, Reason: ReasonNoMaintenance, LastHeartbeatTime: now, LastTransitionTime: now,
	}
	var names []string
	for _, m := range all {
		name, at := m.Name, m.notBefore()
		if kind == NodeMaintenancePlanned && !at.IsZero() {
			name += " (not before " + stamp(at) + ")"
		}
		names = append(names, name)
		want.Status, want.Reason = corev1.ConditionTrue, ReasonAdminRequested
	}
	if slices.ContainsFunc(all, func(m *maintenance) bool { return m.Spec.Window != nil }) {
		want.Reason = ReasonMaintenanceWindow
	}
	want.Message = reasons.Shorten(strings.Join(names, ", "), maxReason)
	_, have := nodeutil.GetNodeCondition(&n.Status, kind)
	switch {
	case have == nil && len(all) == 0:
		return nil
	case have == nil || have.Status != want.Status:
	case have.Reason == want.Reason && have.Message == want.Message:
		return nil
	default:
		want.LastTransitionTime = have.LastTransitionTime
	}
	return []corev1.NodeCondition{want}
}

// The pods of DaemonSets in a drain plan must not return to the node before the node does. Their DaemonSets create
// them again at once. An admission policy adds a scheduling gate to a pod whose Node records that it keeps such pods
// away (config/admission/daemonsets). So the Node gets this record before the targets of its drain reach these pods. It
// loses the record when the drain has ended, before the node returns, as its network may depend on them; then this
// controller removes the gates. All of that follows from Nodes and pods, independently of maintenances and events.

// KeptPod is a pod that a DaemonSet has created for a Node that keeps it away.
type KeptPod struct {
	Namespace, Name string
	UID             types.UID
	// Node of the pod; empty, if its affinity names none.
	Node string
	// Gated: it has Slipway's scheduling gate.
	Gated bool
}

// keptAway returns the pods that the Node keeps away, by its record.
func (n *node) keptAway() string {
	if !n.exists() || n.Labels[slipwayv1alpha1.KeptAway] != slipwayv1alpha1.KeptAwayDaemonSets {
		return ""
	}
	return n.Annotations[slipwayv1alpha1.KeptAway]
}

// hasMarks reports whether the Node has a record of KeepAway, or a part of it.
func (n *node) hasMarks() bool {
	_, label := n.Labels[slipwayv1alpha1.KeptAway]
	_, which := n.Annotations[slipwayv1alpha1.KeptAway]
	return label || which
}

// toKeepAway returns the pods that a node has to keep away: the pods that its drain will cover, and the pods that it
// still covers until it has reached its new targets or has ended.
func (p *plan) toKeepAway(n *node) string {
	if !n.exists() || n.drain == nil || n.back != nil || ended(n.drain) {
		return ""
	}
	if which := drainplan.KeptAway(p.wantedTargets(n)); which != "" && !released(n.refs) {
		return which
	}
	mayKeepAway := !released(n.refs) && slices.ContainsFunc(n.refs, func(ref Ref) bool {
		m := p.byUID[ref.UID]
		return m != nil && slices.ContainsFunc(m.plan, ofDaemonSets)
	})
	if which := drainplan.KeptAway(targetsOf(n.drain)); which != "" || !mayKeepAway {
		return which
	}
	return n.keptAway() // a driver that starts again has yet to report the previous targets as reached
}

func ofDaemonSets(t slipwayv1alpha1.DrainTarget) bool {
	return t.PodType == slipwayv1alpha1.PodTypeDaemonSet
}

// withheld leaves out targets of DaemonSets that the drain does not have yet, until the Node keeps their pods away.
func (n *node) withheld(wanted []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	if which := drainplan.KeptAway(wanted); which == "" || which == n.keptAway() {
		return wanted
	}
	targets := slices.DeleteFunc(slices.Clone(wanted), ofDaemonSets)
	if n.drain != nil {
		for _, t := range targetsOf(n.drain) {
			if ofDaemonSets(t) {
				targets = append(targets, t)
			}
		}
	}
	if len(targets) == 0 {
		return drainplan.NoPods()
	}
	return targets
}

// keepAway returns the step that changes the record on the Node, and whether the next decision needs the pods that it
// keeps away.
func (p *plan) keepAway(n *node) (steps []Step, watch bool) {
	which := p.toKeepAway(n)
	switch {
	case which == "" && n.hasMarks():
		steps = append(steps, LetBack{Node: n.name})
	case which != "" && which != n.keptAway():
		steps = append(steps, KeepAway{Node: n.name, Which: which})
	}
	return steps, which != "" || n.hasMarks()
}

// lift removes the gates of pods whose node keeps no pods away, or was deleted.
func (p *plan) lift() (steps []Step) {
	for _, pod := range p.facts.KeptAway {
		n := p.byName[pod.Node]
		if pod.Gated && (n == nil || n.keptAway() == "" && p.toKeepAway(n) == "") {
			steps = append(steps, Lift{Pod: pod})
		}
	}
	return steps
}

// keptFrom returns the pods that have yet to return to a node, as namespace/name.
func (v *view) keptFrom(n *node) []string {
	var names []string
	for _, pod := range v.facts.KeptAway {
		if pod.Node == n.name {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	return names
}
