// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maintenanceRow is the state of a maintenance.
type maintenanceRow struct {
	Name  string                           `json:"name"`
	UID   types.UID                        `json:"uid"`
	Stage slipwayv1alpha1.MaintenanceStage `json:"stage"`
	// State is one word or two; Code is the reason of the condition that it comes from.
	State string `json:"state"`
	Code  string `json:"code,omitempty"`
	// Message is the message of its status.
	Message string `json:"message,omitempty"`
	// Outdated means that the status is about an older spec.
	Outdated bool         `json:"outdated,omitempty"`
	Since    *metav1.Time `json:"since,omitempty"`
	// RequestedBy is the requester, Reason their reason.
	RequestedBy string                                `json:"requestedBy,omitempty"`
	Reason      string                                `json:"reason,omitempty"`
	Nodes       slipwayv1alpha1.MaintenanceNodeCounts `json:"nodes"`
	Drain       *maintenanceDrain                     `json:"drain,omitempty"`
	// NodeStatuses are the nodes that have failed, are blocked or are out.
	NodeStatuses []slipwayv1alpha1.MaintenanceNodeStatus `json:"nodeStatuses,omitempty"`
	// Domains are all its nodes, where they are shown.
	Domains []maintenanceDomain `json:"domains,omitempty"`

	tone ui.Tone
	// stands means that nothing moves.
	stands bool
	of     *slipwayv1alpha1.NodeMaintenance
}

// maintenanceDrain is the progress of the drain plan.
type maintenanceDrain struct {
	Reached     []slipwayv1alpha1.DrainTarget `json:"reached,omitempty"`
	PodsPending int32                         `json:"podsPending"`
	Message     string                        `json:"message,omitempty"`
}

// maintenanceRows returns the rows of all maintenances: those in progress first, then by name.
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
	r.name()
	return r
}

// The states of a maintenance.
const (
	maintenanceUnseen    = "not begun"
	maintenanceRefused   = "refused"
	maintenancePlanned   = "planned"
	maintenanceCompleted = "completed"
	maintenanceEnded     = "ended early"
	maintenanceReturning = "returning"
	maintenanceCordoned  = "cordoned"
	maintenanceDrained   = "drained"
	maintenanceRunning   = "running"
	maintenanceStopped   = "stopped"
	maintenancePaused    = "paused"
	maintenanceWaiting   = "waiting"
)

// name finds the state. What the conditions say comes before the stage, as long as they are
// not of an older spec of another stage.
func (r *maintenanceRow) name() {
	say := func(state string, tone ui.Tone, code string) { r.State, r.tone, r.Code = state, tone, code }
	accepted, completed := r.condition(slipwayv1alpha1.MaintenanceAccepted), r.condition(slipwayv1alpha1.MaintenanceCompleted)
	switch {
	case isTrueCondition(completed) && r.Nodes.Failed == 0 && r.Nodes.Waiting == 0:
		say(maintenanceCompleted, ui.Good, completed.Reason)
	case isTrueCondition(completed):
		say(maintenanceEnded, ui.Warn, completed.Reason)
	case r.Stage == slipwayv1alpha1.StageComplete || r.of.DeletionTimestamp != nil:
		say(maintenanceReturning, ui.Plain, "")
	case accepted != nil && accepted.Status == metav1.ConditionFalse:
		say(maintenanceRefused, ui.Bad, accepted.Reason)
		r.Message = cmp.Or(r.Message, accepted.Message)
	case r.of.Status.ObservedGeneration == 0:
		say(maintenanceUnseen, ui.Warn, "")
		r.Message = cmp.Or(r.Message, "Slipway's controller has not looked at it yet")
	case r.Stage == slipwayv1alpha1.StageIdle:
		say(maintenancePlanned, ui.Plain, slipwayv1alpha1.ReasonIdle)
	default:
		r.nameOfProgress()
	}
}

// standstills are the states for reasons for which nothing moves.
var standstills = map[string]ui.Span{
	slipwayv1alpha1.ReasonPaused:           {Text: maintenancePaused, Tone: ui.Warn},
	slipwayv1alpha1.ReasonPauseAfter:       {Text: maintenancePaused, Tone: ui.Warn},
	slipwayv1alpha1.ReasonBeforeWindow:     {Text: "scheduled"},
	slipwayv1alpha1.ReasonWindowOver:       {Text: "window over", Tone: ui.Warn},
	slipwayv1alpha1.ReasonFailureThreshold: {Text: maintenanceStopped, Tone: ui.Bad},
	slipwayv1alpha1.ReasonIncomplete:       {Text: maintenanceStopped, Tone: ui.Bad},
	slipwayv1alpha1.ReasonPendingPods:      {Text: "held back", Tone: ui.Warn},
	slipwayv1alpha1.ReasonNoNodes:          {Text: "no nodes", Tone: ui.Warn},
}

// nameOfProgress finds the state of a maintenance in stage Cordon or Drain.
func (r *maintenanceRow) nameOfProgress() {
	progress := r.condition(slipwayv1alpha1.MaintenanceProgressing)
	r.stands = progress != nil && progress.Status == metav1.ConditionFalse
	if progress != nil {
		r.Code = progress.Reason
	}
	together := r.of.Spec.Rollout == nil
	named, known := standstills[r.Code]
	switch {
	case known && (r.stands || r.Code == slipwayv1alpha1.ReasonPaused):
		r.State, r.tone = named.Text, named.Tone
	case r.of.Spec.Paused:
		r.State, r.tone = maintenancePaused, ui.Warn
	case together && r.Stage == slipwayv1alpha1.StageCordon:
		r.State = maintenanceCordoned
	case together && isTrueCondition(r.condition(slipwayv1alpha1.MaintenanceDrained)):
		r.State, r.tone = maintenanceDrained, ui.Good
	case r.stands:
		r.State, r.tone = maintenanceWaiting, ui.Warn
	default:
		r.State = maintenanceRunning
	}
}

func (r *maintenanceRow) condition(conditionType string) *metav1.Condition {
	return apimeta.FindStatusCondition(r.of.Status.Conditions, conditionType)
}

func isTrueCondition(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// over says that no node needs anything any more.
func (r *maintenanceRow) over() bool {
	return r.State == maintenanceCompleted || r.State == maintenanceEnded
}

// inMotion says that a node is on its way, and has not failed.
func (r *maintenanceRow) inMotion() bool {
	return slices.ContainsFunc(r.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
		return !slices.Contains([]slipwayv1alpha1.MaintenanceNodePhase{
			slipwayv1alpha1.NodeFailed, slipwayv1alpha1.NodeWaiting, slipwayv1alpha1.NodeReturned,
		}, n.Phase)
	})
}

// withNodes adds all nodes that the maintenance selects, in their domains. Nodes are nil where
// they may not be read.
func (r *maintenanceRow) withNodes(nodes []*corev1.Node, events []*lifecyclev1alpha1.LifecycleEvent) {
	if nodes != nil {
		r.Domains = domainsOf(r.of, nodes, events)
	}
}
