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

// Reasons of the conditions of a drain. ConditionPodsLeft has that of what is left, such as
// [drain.PodSkipped], where all that is left has the same.
const (
	ReasonReached    = "Reached"
	ReasonDraining   = "Draining"
	ReasonNoneLeft   = "NoneLeft"
	ReasonLeftBehind = "LeftBehind"
	ReasonEscalated  = "Escalated"
)

// maxNamed is how many objects a condition names.
const maxNamed = 10

// conditions says what blockers and progress do not. The agent keeps a condition until
// it is told otherwise, and after a restart nothing of it is known here: so what can
// end is always said, and what cannot is only said when it is so.
func conditions(request drain.Request, s drain.Status) []driverkit.Condition {
	all := []driverkit.Condition{podsLeft(request.NodeName, s.Left)}
	if request.Hold || s.Reached {
		all = append(all, targetsReached(s.Reached, request.Hold))
	}
	if len(s.Overridden) > 0 {
		all = append(all, budgetsOverridden(s))
	}
	return all
}

func targetsReached(reached, hold bool) driverkit.Condition {
	if !reached {
		return driverkit.Condition{Type: lifecyclev1alpha1.ConditionTargetsReached, Status: metav1.ConditionFalse, Reason: ReasonDraining}
	}
	c := driverkit.Condition{
		Type: lifecyclev1alpha1.ConditionTargetsReached, Status: metav1.ConditionTrue, Reason: ReasonReached,
		Message: "nothing is left to move",
	}
	if hold {
		c.Message += "; what comes is evicted, until spec.parameters.hold is false"
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
		names = append(names, leftBehind(node, l))
	}
	c.Message = fmt.Sprintf("%d left on the node: %s", len(left), named(names))
	return c
}

// leftBehind is what is left, why, and because of what.
func leftBehind(node string, l drain.Blocker) string {
	b := blocker(node, l)
	if l.Reason == drain.VolumeAttached && b.By != "" {
		return fmt.Sprintf("%s (%s)", b.By, b.Reason)
	}
	if b.By == "" {
		return fmt.Sprintf("%s (%s)", b.Object, b.Reason)
	}
	return fmt.Sprintf("%s (%s, %s)", b.Object, b.Reason, b.By)
}

func budgetsOverridden(s drain.Status) driverkit.Condition {
	var names []string
	for _, pod := range s.Overridden {
		names = append(names, "Pod "+pod.String())
	}
	return driverkit.Condition{
		Type: lifecyclev1alpha1.ConditionBudgetsOverridden, Status: metav1.ConditionTrue, Reason: ReasonEscalated,
		Message: fmt.Sprintf("%d deleted although the eviction was not accepted: %s", len(names), named(names)),
	}
}

// named lists the first of the names, and says how many more there are.
func named(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// nodeConditions are what the drain makes of the Node's conditions DrainInProgress and
// Drained (KEP-5683). The agent names the event in them, and writes them as seldom as
// they need it; how a drain has failed, it says without the driver.
func nodeConditions(request drain.Request, s drain.Status) []driverkit.Condition {
	pods := fmt.Sprintf("%d/%d pods", s.Done, s.Total)
	switch {
	case s.Reached && !request.Hold:
		return draining(metav1.ConditionFalse, lifecyclev1alpha1.NodeReasonDrainCompleted, metav1.ConditionTrue,
			lifecyclev1alpha1.NodeReasonDrainCompleted, pods)
	case len(s.Blockers) > 0 && s.Moving == 0:
		return goingOn(lifecyclev1alpha1.NodeReasonDrainBlocked, pods)
	default:
		return goingOn(lifecyclev1alpha1.NodeReasonAdminRequested, pods)
	}
}

// goingOn are the conditions of a drain that has not reached its end.
func goingOn(reason, pods string) []driverkit.Condition {
	return draining(metav1.ConditionTrue, reason, metav1.ConditionFalse, lifecyclev1alpha1.NodeReasonDrainStarted, pods)
}

func draining(inProgress metav1.ConditionStatus, reason string, drained metav1.ConditionStatus, drainedReason, pods string) []driverkit.Condition {
	c := driverkit.Condition{Type: string(corev1.NodeDrained), Status: drained, Reason: drainedReason}
	if drained == metav1.ConditionTrue {
		c.Message = pods
	}
	return []driverkit.Condition{
		{Type: string(corev1.NodeDrainInProgress), Status: inProgress, Reason: reason, Message: pods}, c,
	}
}

// nodeReturned are the conditions of a node that is in service again.
func nodeReturned() []driverkit.Condition {
	return draining(metav1.ConditionFalse, lifecyclev1alpha1.NodeReasonNodeReturned, metav1.ConditionFalse,
		lifecyclev1alpha1.NodeReasonNodeReturned, "")
}
