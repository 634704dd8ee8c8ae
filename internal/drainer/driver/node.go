// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
)

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
