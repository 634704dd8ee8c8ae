// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
)

// Reasons of the conditions of a drain. If all left pods and volumes have the same reason, such as [drain.PodSkipped],
// ConditionPodsLeft has it too.
const (
	ReasonReached    = "Reached"
	ReasonDraining   = "Draining"
	ReasonNoneLeft   = "NoneLeft"
	ReasonLeftBehind = "LeftBehind"
	ReasonEscalated  = "Escalated"
)

// maxNamed limits the objects in the message of a condition.
const maxNamed = 10

// conditions supplements blockers and progress. The agent keeps a condition until the driver changes it, and a restarted
// driver knows no earlier condition: so conditions always includes each condition that can end.
func conditions(request drain.Request, s drain.Status) []driverkit.Condition {
	all := []driverkit.Condition{podsLeft(request.NodeName, s.Left)}
	if request.Hold || s.Reached {
		all = append(all, targetsReached(s.Reached, request.Hold))
	}
	if len(s.Overridden) > 0 {
		var names []string
		for _, pod := range s.Overridden {
			names = append(names, "Pod "+pod.String())
		}
		all = append(all, driverkit.Condition{
			Type: lifecyclev1alpha1.ConditionBudgetsOverridden, Status: metav1.ConditionTrue, Reason: ReasonEscalated,
			Message: fmt.Sprintf("%d deleted although the eviction was not accepted: %s", len(names), named(names)),
		})
	}
	return all
}

func targetsReached(reached, hold bool) driverkit.Condition {
	if !reached {
		return driverkit.Condition{Type: lifecyclev1alpha1.ConditionTargetsReached, Status: metav1.ConditionFalse, Reason: ReasonDraining}
	}
	c := driverkit.Condition{
		Type: lifecyclev1alpha1.ConditionTargetsReached, Status: metav1.ConditionTrue, Reason: ReasonReached,
		Message: "all targets have moved",
	}
	if hold {
		c.Message += "; new pods are evicted until spec.parameters.hold is false"
	}
	return c
}

func podsLeft(node string, left []drain.Blocker) driverkit.Condition {
	c := driverkit.Condition{Type: lifecyclev1alpha1.ConditionPodsLeft, Status: metav1.ConditionFalse, Reason: ReasonNoneLeft}
	if len(left) == 0 {
		return c
	}
	c.Status, c.Reason = metav1.ConditionTrue, string(left[0].Reason)
	var names []string
	for _, l := range left {
		if string(l.Reason) != c.Reason {
			c.Reason = ReasonLeftBehind
		}
		names = append(names, leftBehind(blocker(node, l)))
	}
	c.Message = fmt.Sprintf("%d left on the node: %s", len(left), named(names))
	return c
}

// leftBehind returns a left pod or volume with its reason and the object that causes it.
func leftBehind(b driverkit.Blocker) string {
	switch {
	case b.By == "":
		return fmt.Sprintf("%s (%s)", b.Object, b.Reason)
	case b.Reason == string(drain.VolumeAttached):
		return fmt.Sprintf("%s (%s)", b.By, b.Reason)
	default:
		return fmt.Sprintf("%s (%s, %s)", b.Object, b.Reason, b.By)
	}
}

// named lists the first names, and counts the rest.
func named(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// cause returns the reason for which a transition drains the node.
func cause(transition string) string {
	if strings.HasSuffix(transition, shutdownSuffix) {
		return lifecyclev1alpha1.NodeReasonNodeShutdown
	}
	return lifecyclev1alpha1.NodeReasonAdminRequested
}

// nodeConditions returns the Node's conditions DrainInProgress and Drained (KEP-5683) during a drain. The agent adds the event,
// limits the writes, and reports the failure of a drain without the driver. A drain that holds the node has drained it, too.
func nodeConditions(cause string, s drain.Status) []driverkit.Condition {
	pods := fmt.Sprintf("%d/%d pods", s.Done, s.Total)
	switch {
	case s.Reached:
		all := draining(metav1.ConditionFalse, lifecyclev1alpha1.NodeReasonDrainCompleted, lifecyclev1alpha1.NodeReasonDrainCompleted, pods)
		all[1].Status, all[1].Message = metav1.ConditionTrue, pods
		return all
	case len(s.Blockers) > 0 && s.Moving == 0:
		return inProgress(cause, pods+", blocked")
	default:
		return inProgress(cause, pods)
	}
}

// inProgress returns the conditions of a drain that has not reached its end.
func inProgress(reason, pods string) []driverkit.Condition {
	return draining(metav1.ConditionTrue, reason, lifecyclev1alpha1.NodeReasonDrainStarted, pods)
}

// draining returns DrainInProgress, and Drained as False.
func draining(status metav1.ConditionStatus, reason, drainedReason, pods string) []driverkit.Condition {
	return []driverkit.Condition{
		{Type: string(corev1.NodeDrainInProgress), Status: status, Reason: reason, Message: pods},
		{Type: string(corev1.NodeDrained), Status: metav1.ConditionFalse, Reason: drainedReason},
	}
}
