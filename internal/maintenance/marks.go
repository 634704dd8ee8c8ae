// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"

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

// markSteps lets the Node say which maintenances are planned and in progress. A Node that never said
// so is left alone while there are none. refused: its event cannot be created.
func (p *plan) markSteps(n *node, refused bool) []Step {
	begins := p.begins[n.name]
	if n.drain == nil && n.back == nil && len(begins) > 0 && !refused {
		return nil // it says so when its event is there
	}
	var planned, going []string
	for _, m := range p.maintenances {
		switch {
		case refOf(n.refs, m.UID) != nil || n.drain != nil && refOf(begins, m.UID) != nil:
			going = append(going, m.Name)
		case p.plans(m, n):
			planned = append(planned, m.plannedText())
		}
	}
	marks := slices.Concat(
		p.mark(n, NodeMaintenancePlanned, ReasonMaintenancePlanned, planned),
		p.mark(n, NodeMaintenanceInProgress, ReasonMaintenanceStarted, going),
	)
	if len(marks) == 0 {
		return nil
	}
	return []Step{MarkNode{Node: n.name, Conditions: marks}}
}

// plans reports whether the maintenance is going to take the node out.
func (p *plan) plans(m *maintenance, n *node) bool {
	t := p.of[m.UID]
	return !m.returns() && (m.finalized() || !m.works()) && t.refusal.reason == "" && len(m.selected) <= MaxPlanned &&
		t.holdUp.reason != slipwayv1alpha1.ReasonWindowOver && m.selects(n) && n.recordOf(m) == nil
}

func (m *maintenance) plannedText() string {
	text := m.Name
	if at := m.notBefore(); !at.IsZero() {
		text += " (not before " + stamp(at) + ")"
	}
	return text
}

// mark returns a condition, if the Node does not have it yet. The time of its transition changes
// only with its status.
func (v *view) mark(n *node, kind corev1.NodeConditionType, reason string, names []string) []corev1.NodeCondition {
	now := metav1.NewTime(v.alarm.now)
	want := corev1.NodeCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: reasons.Shorten(strings.Join(names, ", "), maxReason),
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	if len(names) == 0 {
		want.Status, want.Reason = corev1.ConditionFalse, ReasonNoMaintenance
	}
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
	if i < 0 && len(names) == 0 {
		return nil
	}
	if i >= 0 {
		have := n.Status.Conditions[i]
		if have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message {
			return nil
		}
		if have.Status == want.Status {
			want.LastTransitionTime = have.LastTransitionTime
		}
	}
	return []corev1.NodeCondition{want}
}
