// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maintenanceRow is the state of a maintenance.
type maintenanceRow struct {
	Name  string                           `json:"name"`
	UID   types.UID                        `json:"uid"`
	Stage slipwayv1alpha1.MaintenanceStage `json:"stage"`
	State state.State                      `json:"state"`
	// Code is the reason of the condition behind the state.
	Code string `json:"code,omitempty"`
	// Message is the message of its status.
	Message string `json:"message,omitempty"`
	// Outdated means that the status is about an older spec.
	Outdated    bool                                  `json:"outdated,omitempty"`
	Since       *metav1.Time                          `json:"since,omitempty"`
	RequestedBy string                                `json:"requestedBy,omitempty"`
	Reason      string                                `json:"reason,omitempty"`
	Nodes       slipwayv1alpha1.MaintenanceNodeCounts `json:"nodes"`
	Drain       *maintenanceDrain                     `json:"drain,omitempty"`
	// NodeStatuses are the nodes that have failed, are blocked or are out of service.
	NodeStatuses []slipwayv1alpha1.MaintenanceNodeStatus `json:"nodeStatuses,omitempty"`
	// Domains are all its nodes, if the command shows them.
	Domains []maintenanceDomain `json:"domains,omitempty"`

	tone ui.Tone
	// stands means that the maintenance makes no progress.
	stands bool
	of     *slipwayv1alpha1.NodeMaintenance
}

// maintenanceDrain is the progress of the drain plan.
type maintenanceDrain struct {
	Reached     []slipwayv1alpha1.DrainTarget `json:"reached,omitempty"`
	PodsPending int32                         `json:"podsPending"`
	Message     string                        `json:"message,omitempty"`
}

// maintenanceRows returns the rows of all maintenances: first those in progress, each group by name.
func maintenanceRows(all []*slipwayv1alpha1.NodeMaintenance) []maintenanceRow {
	rows := make([]maintenanceRow, 0, len(all))
	for _, m := range all {
		rows = append(rows, rowOfMaintenance(m))
	}
	slices.SortStableFunc(rows, func(a, b maintenanceRow) int {
		if a.over() != b.over() {
			return map[bool]int{true: 1, false: -1}[a.over()]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return rows
}

func rowOfMaintenance(m *slipwayv1alpha1.NodeMaintenance) maintenanceRow {
	r := maintenanceRow{
		Name: m.Name, UID: m.UID, Stage: cmp.Or(m.Spec.Stage, slipwayv1alpha1.StageIdle), Message: m.Status.Message,
		Outdated:    m.Status.ObservedGeneration != 0 && m.Status.ObservedGeneration < m.Generation,
		RequestedBy: m.Spec.RequestedBy, Reason: m.Spec.Reason, Nodes: m.Status.Nodes, NodeStatuses: m.Status.NodeStatuses, of: m,
	}
	if !m.CreationTimestamp.IsZero() {
		r.Since = &m.CreationTimestamp
	}
	if d := m.Status.DrainStatus; d != nil {
		r.Drain = &maintenanceDrain{Reached: d.ReachedDrainTargets, PodsPending: d.PodsPending, Message: d.DrainMessage}
	}
	r.findState()
	return r
}

// The states that only maintenances have.
const (
	notBegun   state.State = "not begun"
	refused    state.State = "refused"
	planned    state.State = "planned"
	completed  state.State = "completed"
	endedEarly state.State = "ended early"
	stopped    state.State = "stopped"
	isPaused   state.State = "paused"
)

// findState finds the state. Conditions count more than the stage, unless they are about an older
// spec of another stage.
func (r *maintenanceRow) findState() {
	set := func(s state.State, tone ui.Tone, code string) { r.State, r.tone, r.Code = s, tone, code }
	accepted, done := r.condition(slipwayv1alpha1.MaintenanceAccepted), r.condition(slipwayv1alpha1.MaintenanceCompleted)
	switch {
	case isTrue(done) && r.Nodes.Failed == 0 && r.Nodes.Waiting == 0:
		set(completed, ui.Good, done.Reason)
	case isTrue(done):
		set(endedEarly, ui.Warn, done.Reason)
	case r.Stage == slipwayv1alpha1.StageComplete || r.of.DeletionTimestamp != nil:
		set(state.Returning, ui.Plain, "")
	case accepted != nil && accepted.Status == metav1.ConditionFalse:
		set(refused, ui.Bad, accepted.Reason)
		r.Message = cmp.Or(r.Message, accepted.Message)
	case r.of.Status.ObservedGeneration == 0:
		set(notBegun, ui.Warn, "")
		r.Message = cmp.Or(r.Message, "Slipway's controller has not processed it yet")
	case r.Stage == slipwayv1alpha1.StageIdle:
		set(planned, ui.Plain, slipwayv1alpha1.ReasonIdle)
	default:
		r.findProgress()
	}
}

// standstills are the states by the reason of the standstill.
var standstills = map[string]ui.Span{
	slipwayv1alpha1.ReasonPaused:           {Text: string(isPaused), Tone: ui.Warn},
	slipwayv1alpha1.ReasonPauseAfter:       {Text: string(isPaused), Tone: ui.Warn},
	slipwayv1alpha1.ReasonBeforeWindow:     {Text: "scheduled"},
	slipwayv1alpha1.ReasonWindowOver:       {Text: "window over", Tone: ui.Warn},
	slipwayv1alpha1.ReasonFailureThreshold: {Text: string(stopped), Tone: ui.Bad},
	slipwayv1alpha1.ReasonIncomplete:       {Text: string(stopped), Tone: ui.Bad},
	slipwayv1alpha1.ReasonPendingPods:      {Text: "held back", Tone: ui.Warn},
	slipwayv1alpha1.ReasonNoNodes:          {Text: "no nodes", Tone: ui.Warn},
}

// findProgress finds the state in stage Cordon or Drain.
func (r *maintenanceRow) findProgress() {
	if progress := r.condition(slipwayv1alpha1.MaintenanceProgressing); progress != nil {
		r.stands, r.Code = progress.Status == metav1.ConditionFalse, progress.Reason
	}
	together := r.of.Spec.Rollout == nil
	known, is := standstills[r.Code]
	switch {
	case is && (r.stands || r.Code == slipwayv1alpha1.ReasonPaused):
		r.State, r.tone = state.State(known.Text), known.Tone
	case r.of.Spec.Paused:
		r.State, r.tone = isPaused, ui.Warn
	case together && r.Stage == slipwayv1alpha1.StageCordon:
		r.State = state.Cordoned
	case together && isTrue(r.condition(slipwayv1alpha1.MaintenanceDrained)):
		r.State, r.tone = state.Drained, ui.Good
	case r.stands:
		r.State, r.tone = state.Waiting, ui.Warn
	default:
		r.State = state.Running
	}
}

func (r *maintenanceRow) condition(conditionType string) *metav1.Condition {
	return apimeta.FindStatusCondition(r.of.Status.Conditions, conditionType)
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// over reports whether the maintenance has released all its nodes.
func (r *maintenanceRow) over() bool { return r.State == completed || r.State == endedEarly }

// ended reports whether the maintenance makes no progress until a person acts. No stage has that goal.
func (r *maintenanceRow) ended() bool {
	dead := []string{slipwayv1alpha1.ReasonFailureThreshold, slipwayv1alpha1.ReasonIncomplete, slipwayv1alpha1.ReasonWindowOver}
	return r.over() || r.State == refused || r.stands && slices.Contains(dead, r.Code) && !r.inMotion()
}

// inMotion reports whether a node is in progress.
func (r *maintenanceRow) inMotion() bool {
	still := []slipwayv1alpha1.MaintenanceNodePhase{slipwayv1alpha1.NodeFailed, slipwayv1alpha1.NodeWaiting, slipwayv1alpha1.NodeReturned}
	return slices.ContainsFunc(r.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool { return !slices.Contains(still, n.Phase) })
}
