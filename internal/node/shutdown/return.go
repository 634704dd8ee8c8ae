// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

// giveBack undoes what a shutdown has done to the Node: its own cordon, and nobody else's.
// said is nil where the shutdown was called off.
func giveBack(f Facts, said *Announcement, noted *Drain, now time.Time) Return {
	var r Return
	if said != nil {
		r.Forget = append(r.Forget, Annotation)
		ended := verdict(*said, noted, now)
		r.Conditions, r.Ended = append(r.Conditions, ended), ended.Reason
	}
	if noted != nil {
		r.Forget = append(r.Forget, DrainAnnotation)
		r.UID = ours(f, *noted)
		r.Conditions = append(r.Conditions, returned(f.Node, r.UID, now)...)
	}
	return r
}

// ours is the event that is noted, if it was created for that shutdown of the node; else
// nothing. That the Node says so is not enough: others write Nodes as well.
func ours(f Facts, noted Drain) types.UID {
	name := nameOf(f.NodeName, noted.Shutdown)
	if noted.UID == "" || noted.Event != name {
		return ""
	}
	for _, e := range f.Events {
		if e.UID == noted.UID && (e.Name != name || e.Spec.TransitionName != Transition) {
			return ""
		}
	}
	for _, owner := range cordons.On(f.Node).Owners {
		if owner.UID == noted.UID && owner.Event != name {
			return ""
		}
	}
	return noted.UID
}

// verdict says how a shutdown ended whose machine has booted since.
func verdict(said Announcement, noted *Drain, now time.Time) corev1.NodeCondition {
	switch {
	case noted == nil || noted.Shutdown != said.ID():
		return condition(corev1.ConditionFalse, ReasonUnfinished, "the machine went down before the node was drained", now)
	case noted.Outcome == lifecyclev1alpha1.Succeeded:
		return condition(corev1.ConditionFalse, ReasonFinished,
			fmt.Sprintf("the node was drained by event %s before the machine went down", noted.Event), now)
	default:
		return condition(corev1.ConditionFalse, ReasonUnfinished,
			fmt.Sprintf("the machine went down before the node was drained: event %s ended as %s", noted.Event, noted.Outcome), now)
	}
}

// returned are those conditions of the Node that speak of the drain, as they are of a node
// that is back.
func returned(node *corev1.Node, uid types.UID, now time.Time) (conditions []corev1.NodeCondition) {
	for _, c := range node.Status.Conditions {
		status := c.Status
		switch {
		case uid == "":
			continue
		case c.Type == corev1.NodeDrained || c.Type == corev1.NodeDrainInProgress:
			if !strings.Contains(c.Message, fmt.Sprintf("(UID %s)", uid)) {
				continue // of another drain
			}
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, lifecyclev1alpha1.NodeReasonNodeReturned, ""
		case c.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition:
			if !strings.HasPrefix(c.Message, fmt.Sprintf("Lifecycle Transition '%s'", Transition)) {
				continue
			}
			c.Status, c.Reason = corev1.ConditionTrue, lifecyclev1alpha1.StateMaintenanceComplete
			c.Message = fmt.Sprintf("Lifecycle Transition '%s'", Transition)
		default:
			continue
		}
		c.LastHeartbeatTime = metav1.NewTime(now)
		if c.Status != status {
			c.LastTransitionTime = metav1.NewTime(now)
		}
		conditions = append(conditions, c)
	}
	return conditions
}
