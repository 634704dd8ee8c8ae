// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Conditions of a Node.
const (
	// NodeMaintenancePlanned is True while a maintenance will take the node out. It is set
	// by maintenances that select at most [MaxPlanned] nodes: what is written grows with the
	// nodes that are worked on, not with those that are selected.
	NodeMaintenancePlanned corev1.NodeConditionType = "MaintenancePlanned"
	// NodeMaintenanceInProgress is True while the node is out for a maintenance.
	NodeMaintenanceInProgress corev1.NodeConditionType = "MaintenanceInProgress"
)

// Reasons of these conditions.
const (
	ReasonMaintenancePlanned = "Planned"
	ReasonMaintenanceStarted = "InProgress"
	ReasonNoMaintenance      = "NoMaintenance"
)

// MaxPlanned is how many nodes a maintenance may select that are to say that it is planned.
const MaxPlanned = 100

// mark has the Node say what is planned, and what is going on. One that never said so, says
// nothing.
func (p *pass) mark(n *node) {
	if !n.exists() {
		return
	}
	if n.drain == nil && n.back == nil && len(n.begin) > 0 && n.refused == "" {
		return // it says so when the event is there
	}
	var planned, going []string
	for _, m := range p.maintenances {
		switch {
		case entryOf(n.fors, m.UID) != nil || n.drain != nil && entryOf(n.begin, m.UID) != nil:
			going = append(going, m.Name)
		case p.plans(m, n):
			planned = append(planned, m.plannedText())
		}
	}
	var marks []corev1.NodeCondition
	marks = n.marked(marks, p.now, NodeMaintenancePlanned, ReasonMaintenancePlanned, planned)
	marks = n.marked(marks, p.now, NodeMaintenanceInProgress, ReasonMaintenanceStarted, going)
	if len(marks) > 0 {
		p.do(MarkNode{Node: n.name, Conditions: marks})
	}
}

// plans says whether the maintenance will take the node out.
func (p *pass) plans(m *maintained, n *node) bool {
	return !m.returns() && (m.finalized() || !m.works()) && m.refusal.reason == "" && len(m.selected) <= MaxPlanned &&
		m.holdUp.reason != slipwayv1alpha1.ReasonWindowOver && m.selects(n) && n.recordOf(m) == nil
}

func (m *maintained) plannedText() string {
	text := m.Name
	if at := m.notBefore(); !at.IsZero() {
		text += " (not before " + stamp(at) + ")"
	}
	return text
}

// marked adds a condition, if the Node does not say it yet. The time of the transition
// changes only with the status.
func (n *node) marked(marks []corev1.NodeCondition, now time.Time, kind corev1.NodeConditionType, reason string, names []string) []corev1.NodeCondition {
	want := corev1.NodeCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: reasons.Shorten(strings.Join(names, ", "), maxReason),
		LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
	}
	if len(names) == 0 {
		want.Status, want.Reason = corev1.ConditionFalse, ReasonNoMaintenance
	}
	for _, have := range n.Status.Conditions {
		if have.Type != kind {
			continue
		}
		if have.Status == want.Status {
			want.LastTransitionTime = have.LastTransitionTime
		}
		if have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message {
			return marks
		}
		return append(marks, want)
	}
	if len(names) == 0 {
		return marks
	}
	return append(marks, want)
}
