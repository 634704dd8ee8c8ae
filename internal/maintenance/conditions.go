// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// conditions says whether a maintenance is accepted, moves, is drained and is over.
func (p *pass) conditions(m *maintained, status *slipwayv1alpha1.NodeMaintenanceStatus) {
	set := func(kind string, is bool, why reasoned) {
		value := metav1.ConditionFalse
		if is {
			value = metav1.ConditionTrue
		}
		p.setCondition(m, status, metav1.Condition{Type: kind, Status: value, Reason: why.reason, Message: truncated(why.message, maxMessage)})
	}
	if m.refusal.reason != "" {
		set(slipwayv1alpha1.MaintenanceAccepted, false, m.refusal)
	} else {
		set(slipwayv1alpha1.MaintenanceAccepted, true, reasoned{reason: slipwayv1alpha1.ReasonAccepted})
	}
	completed, why := m.completed(status.Nodes)
	set(slipwayv1alpha1.MaintenanceCompleted, completed, why)
	drained, why := m.drainedAll(status.Nodes)
	set(slipwayv1alpha1.MaintenanceDrained, drained, why)
	moves, why := m.progressing(status.Nodes, completed)
	set(slipwayv1alpha1.MaintenanceProgressing, moves, why)
}

// setCondition keeps the time of a condition that says the same as before.
func (p *pass) setCondition(m *maintained, status *slipwayv1alpha1.NodeMaintenanceStatus, c metav1.Condition) {
	c.ObservedGeneration, c.LastTransitionTime = m.Generation, p.second()
	if have := apimeta.FindStatusCondition(status.Conditions, c.Type); have != nil {
		if have.Status == c.Status {
			c.LastTransitionTime = have.LastTransitionTime
		}
		*have = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}

// completed says whether no node needs anything any more.
func (m *maintained) completed(counts slipwayv1alpha1.MaintenanceNodeCounts) (bool, reasoned) {
	open := counts.Waiting + counts.Out + counts.Failed
	switch {
	case m.returns() && counts.Out == 0:
		return true, reasoned{slipwayv1alpha1.ReasonCompleted, fmt.Sprintf("no node is out; %d were done with, %d have failed, %d were not begun", counts.Returned, counts.Failed, counts.Waiting)}
	case m.returns():
		return false, reasoned{slipwayv1alpha1.ReasonRunning, fmt.Sprintf("%d nodes are out", counts.Out)}
	case !m.works():
		return false, reasoned{slipwayv1alpha1.ReasonIdle, ""}
	case counts.Selected == 0:
		return false, reasoned{slipwayv1alpha1.ReasonNoNodes, "spec.nodeSelector selects no node"}
	case m.Spec.Rollout != nil && open == 0:
		return true, reasoned{slipwayv1alpha1.ReasonCompleted, fmt.Sprintf("%d nodes were done with", counts.Returned)}
	case counts.Out == 0 && (counts.Waiting == 0 || m.holdUp.reason == slipwayv1alpha1.ReasonWindowOver):
		return false, reasoned{slipwayv1alpha1.ReasonIncomplete, fmt.Sprintf("%d nodes have failed, %d were not begun", counts.Failed, counts.Waiting)}
	default:
		return false, reasoned{slipwayv1alpha1.ReasonRunning, fmt.Sprintf("%d nodes are out, %d wait", counts.Out, counts.Waiting)}
	}
}

// drainedAll says whether all nodes are drained that are to be (KEP-4212).
func (m *maintained) drainedAll(counts slipwayv1alpha1.MaintenanceNodeCounts) (bool, reasoned) {
	gone := counts.Drained + counts.Returned
	switch {
	case m.Spec.Stage == slipwayv1alpha1.StageIdle || m.Spec.Stage == "" || m.Spec.Stage == slipwayv1alpha1.StageCordon:
		return false, reasoned{slipwayv1alpha1.ReasonIdle, ""}
	case counts.Selected == 0:
		return false, reasoned{slipwayv1alpha1.ReasonNoNodes, "spec.nodeSelector selects no node"}
	case m.returns():
		return false, reasoned{slipwayv1alpha1.ReasonCompleted, ""}
	case gone == counts.Selected:
		return true, reasoned{slipwayv1alpha1.ReasonDrained, ""}
	default:
		return false, reasoned{slipwayv1alpha1.ReasonDraining, fmt.Sprintf("%d of %d nodes are or were drained", gone, counts.Selected)}
	}
}

// progressing says whether anything moves, and why not.
func (m *maintained) progressing(counts slipwayv1alpha1.MaintenanceNodeCounts, completed bool) (bool, reasoned) {
	switch {
	case completed:
		return false, reasoned{slipwayv1alpha1.ReasonCompleted, ""}
	case counts.Selected == 0 && counts.Out == 0 && m.works():
		return false, reasoned{slipwayv1alpha1.ReasonNoNodes, "spec.nodeSelector selects no node"}
	case m.Spec.Paused && m.works():
		return false, reasoned{slipwayv1alpha1.ReasonPaused, "spec.paused is true"}
	case m.holdUp.reason != "" && counts.Out == 0:
		return false, m.holdUp
	case m.holdUp.reason != "":
		return true, reasoned{slipwayv1alpha1.ReasonRunning, m.holdUp.message}
	case m.rollout.Reason != "" && counts.Out == 0 && len(m.rollout.Begin) == 0:
		return false, reasoned{m.rollout.Reason, m.rollout.Message}
	case counts.Out == 0 && counts.Waiting == 0:
		return false, reasoned{slipwayv1alpha1.ReasonIncomplete, fmt.Sprintf("%d nodes have failed", counts.Failed)}
	default:
		return true, reasoned{slipwayv1alpha1.ReasonRunning, m.rollout.Message}
	}
}
