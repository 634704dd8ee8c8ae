// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// setConditions sets Accepted, Completed, Drained and Progressing.
func (r report) setConditions(status *slipwayv1alpha1.NodeMaintenanceStatus, now metav1.Time) {
	set := func(kind string, is bool, why cause) {
		c := metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: why.reason, Message: reasons.Shorten(why.message, maxMessage),
			ObservedGeneration: r.Generation, LastTransitionTime: now,
		}
		if is {
			c.Status = metav1.ConditionTrue
		}
		apimeta.SetStatusCondition(&status.Conditions, c)
	}
	accepted := cause{cmp.Or(r.refusal.reason, slipwayv1alpha1.ReasonAccepted), r.refusal.message}
	set(slipwayv1alpha1.MaintenanceAccepted, r.refusal.reason == "", accepted)
	completed, why := r.completed(status.Nodes)
	set(slipwayv1alpha1.MaintenanceCompleted, completed, why)
	drained, why := r.drainedAll(status.Nodes)
	set(slipwayv1alpha1.MaintenanceDrained, drained, why)
	progressing, why := r.progressing(status.Nodes, completed)
	set(slipwayv1alpha1.MaintenanceProgressing, progressing, why)
}

// completed reports whether the maintenance has completed its part on all nodes.
func (r report) completed(counts slipwayv1alpha1.MaintenanceNodeCounts) (bool, cause) {
	switch {
	case r.returns() && r.away == 0:
		return true, cause{slipwayv1alpha1.ReasonCompleted, fmt.Sprintf("no node is out of service; returned: %d, failed: %d, not begun: %d",
			counts.Returned, counts.Failed, counts.Waiting)}
	case r.returns():
		return false, cause{slipwayv1alpha1.ReasonRunning, fmt.Sprintf("out of service: %d", r.away)}
	case !r.works():
		return false, cause{slipwayv1alpha1.ReasonIdle, ""}
	case counts.Selected == 0:
		return false, nothingSelected
	case r.Spec.Rollout != nil && counts.Waiting+counts.Out+counts.Failed == 0:
		return true, cause{slipwayv1alpha1.ReasonCompleted, fmt.Sprintf("returned: %d", counts.Returned)}
	case counts.Out == 0 && (counts.Waiting == 0 || r.holdUp.reason == slipwayv1alpha1.ReasonWindowOver):
		return false, cause{slipwayv1alpha1.ReasonIncomplete, fmt.Sprintf("failed: %d, not begun: %d", counts.Failed, counts.Waiting)}
	default:
		return false, cause{slipwayv1alpha1.ReasonRunning, fmt.Sprintf("out of service: %d, waiting: %d", counts.Out, counts.Waiting)}
	}
}

var nothingSelected = cause{slipwayv1alpha1.ReasonNoNodes, "spec.nodeSelector selects no node"}

// drainedAll reports whether all selected nodes are drained (KEP-4212).
func (r report) drainedAll(counts slipwayv1alpha1.MaintenanceNodeCounts) (bool, cause) {
	gone := counts.Drained + counts.Returned
	switch {
	case r.Spec.Stage == slipwayv1alpha1.StageIdle || r.Spec.Stage == "" || r.Spec.Stage == slipwayv1alpha1.StageCordon:
		return false, cause{slipwayv1alpha1.ReasonIdle, ""}
	case counts.Selected == 0:
		return false, nothingSelected
	case r.returns():
		return false, cause{slipwayv1alpha1.ReasonCompleted, ""}
	case gone == counts.Selected:
		return true, cause{slipwayv1alpha1.ReasonDrained, ""}
	default:
		return false, cause{slipwayv1alpha1.ReasonDraining, fmt.Sprintf("drained: %d of %d nodes", gone, counts.Selected)}
	}
}

// stuck are the reasons for which a node makes no progress until an administrator acts.
var stuck = map[string]bool{
	slipwayv1alpha1.ReasonStepRefused: true, slipwayv1alpha1.ReasonJobRefused: true,
	string(lifecyclev1alpha1.GuardLastSchedulableNode): true, string(lifecyclev1alpha1.GuardSecondControlPlaneNode): true,
}

// stands returns the reason for which none of the nodes out of service makes progress: that of the first stuck node, if
// all other ones wait for stuck nodes.
func (r report) stands() (why cause) {
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		switch at := r.nodes[name]; {
		case at.phase == slipwayv1alpha1.NodeWaiting || at.phase == slipwayv1alpha1.NodeReturned:
		case at.phase == slipwayv1alpha1.NodeFailed && at.reason != slipwayv1alpha1.ReasonStepRefused:
		case stuck[at.reason] && why.reason == "":
			why = cause{at.reason, fmt.Sprintf("node %s: %s", name, at.message)}
		case !stuck[at.reason] && !at.inStep:
			return cause{}
		}
	}
	return why
}

// progressing reports whether a node makes progress, with the reason.
func (r report) progressing(counts slipwayv1alpha1.MaintenanceNodeCounts, completed bool) (bool, cause) {
	switch {
	case completed:
		return false, cause{slipwayv1alpha1.ReasonCompleted, ""}
	case r.refusal.reason != "" && counts.Out == 0 && r.works():
		return false, r.refusal
	case counts.Selected == 0 && counts.Out == 0 && r.works():
		return false, nothingSelected
	case r.Spec.Paused && r.works():
		return false, cause{slipwayv1alpha1.ReasonPaused, "spec.paused is true"}
	case r.deadlock.reason != "":
		return r.deadlock.reason == slipwayv1alpha1.ReasonDeadlockHeldBack, r.deadlock
	case r.stands().reason != "":
		return false, r.stands()
	case r.holdUp.reason != "" && counts.Out == 0:
		return false, r.holdUp
	case r.holdUp.reason != "":
		return true, cause{slipwayv1alpha1.ReasonRunning, r.holdUp.message}
	case counts.Out == 0 && (r.rollout.Reason == slipwayv1alpha1.ReasonPauseAfter || r.rollout.Reason != "" && len(r.rollout.Begin) == 0):
		return len(r.rollout.Begin) > 0, cause{r.rollout.Reason, r.rollout.Message}
	case counts.Out == 0 && counts.Waiting == 0:
		return false, cause{slipwayv1alpha1.ReasonIncomplete, fmt.Sprintf("failed: %d", counts.Failed)}
	default:
		return true, cause{slipwayv1alpha1.ReasonRunning, r.rollout.Message}
	}
}
