// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"slices"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// isStuck says whether a maintenance is to get on: nodes wait or are out, and nobody is named
// who is to do something first. What is said for a reason for which nothing moves, people have
// asked for, or an alert tells of that; but MaxUnavailable, which nodes end that come back.
func isStuck(s slipwayv1alpha1.NodeMaintenanceStatus, standing string) bool {
	switch {
	case standing != "" && standing != slipwayv1alpha1.ReasonMaxUnavailable:
		return false
	case s.Nodes.Out == 0:
		return s.Nodes.Waiting > 0
	case stageOf(s) == slipwayv1alpha1.StageCordon:
		return false // somebody moves the stage on
	default:
		return slices.ContainsFunc(s.NodeStatuses, isToGetOn)
	}
}

// stageOf is the last that has begun.
func stageOf(s slipwayv1alpha1.NodeMaintenanceStatus) slipwayv1alpha1.MaintenanceStage {
	if len(s.StageStatuses) == 0 {
		return ""
	}
	return s.StageStatuses[len(s.StageStatuses)-1].Name
}

// isToGetOn says whether a node is out and waits neither for people nor for another maintenance.
// A drain that pods hold up has an alert of its own, which knows for how long.
func isToGetOn(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
	switch n.Phase {
	case slipwayv1alpha1.NodeWaiting, slipwayv1alpha1.NodeReturned, slipwayv1alpha1.NodeFailed:
		return false
	case slipwayv1alpha1.NodeDrained:
		return n.Reason != "" && !isAsked(n.Reason) // without a rollout, somebody moves the stage on
	default:
		return !isAsked(n.Reason) && n.Reason != slipwayv1alpha1.ReasonBlocked
	}
}

func isAsked(reason string) bool {
	return slices.Contains([]string{
		slipwayv1alpha1.ReasonHookWaiting, slipwayv1alpha1.ReasonWaitingForWork, slipwayv1alpha1.ReasonPaused, slipwayv1alpha1.ReasonWaitingForOthers,
	}, reason)
}

func laterOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
