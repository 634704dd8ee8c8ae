// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Reasons of core Events about a maintenance.
const (
	// ReasonNodeUncordoned: somebody else has uncordoned a node that is out. It is cordoned
	// again, at once and then ever more seldom.
	ReasonNodeUncordoned = "NodeUncordoned"
	// ReasonNodeFailed: a node has failed.
	ReasonNodeFailed = "NodeFailed"
	// ReasonFastForwarded: a node's drain was further than the maintenance would have begun.
	ReasonFastForwarded = "FastForwarded"
	// ReasonStageBegan: a stage has begun.
	ReasonStageBegan = "StageBegan"
)

// uncordoned is what a node says that somebody else has uncordoned while it is out.
const uncordoned = "somebody else has uncordoned the node while it is out; its drain cordons it again"

// tell tells what the new status shows and the old one did not.
func (p *pass) tell(m *maintained, status *slipwayv1alpha1.NodeMaintenanceStatus) {
	about := func(warning bool, reason, message string) {
		p.told = append(p.told, Tell{About: m.NodeMaintenance, Warning: warning, Reason: reason, Message: reasons.Shorten(message, maxMessage)})
	}
	for _, s := range status.StageStatuses[len(m.Status.StageStatuses):] {
		if s.Name != slipwayv1alpha1.StageIdle {
			about(false, ReasonStageBegan, fmt.Sprintf("stage %s began", s.Name))
		}
	}
	before := map[string]slipwayv1alpha1.MaintenanceNodeStatus{}
	for _, s := range m.Status.NodeStatuses {
		before[s.Name] = s
	}
	for _, s := range status.NodeStatuses {
		old := before[s.Name]
		switch {
		case s.Phase == slipwayv1alpha1.NodeFailed && old.Phase != s.Phase:
			about(true, ReasonNodeFailed, fmt.Sprintf("node %s: %s: %s", s.Name, s.Reason, s.Message))
		case s.Reason == ReasonNodeUncordoned && old.Reason != s.Reason:
			about(true, ReasonNodeUncordoned, fmt.Sprintf("node %s: %s", s.Name, s.Message))
		case (s.Reason == slipwayv1alpha1.ReasonStepRefused || s.Reason == slipwayv1alpha1.ReasonDeadlock || s.Reason == slipwayv1alpha1.ReasonDeadlockHeldBack) && old.Reason != s.Reason:
			about(true, s.Reason, fmt.Sprintf("node %s: %s", s.Name, s.Message))
		}
	}
	if apimeta.IsStatusConditionTrue(status.Conditions, slipwayv1alpha1.MaintenanceCompleted) &&
		!apimeta.IsStatusConditionTrue(m.Status.Conditions, slipwayv1alpha1.MaintenanceCompleted) {
		about(false, slipwayv1alpha1.ReasonCompleted, status.Message)
	}
}
