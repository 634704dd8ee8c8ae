// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/internal/reasons"
)

const reasonsHead = `<!-- Written by docs/generate, from internal/reasons. make generate -->

# Reason codes

This page explains the reason codes in the status of a LifecycleEvent and on the Node, with their remedies. ` + "`kubectl slipway explain NODE`" + `
explains the current codes of a node, with names and figures.

| object | field |
|---|---|
| a blocker | ` + "`status.blockers[].reason`" + ` of the event, or in its condition ` + "`PodsLeft`" + ` |
| a condition of the event | ` + "`status.conditions[].reason`" + ` |
| a NodeMaintenance | the reason of its conditions, or ` + "`status.nodeStatuses[].reason`" + ` for one of its nodes |
| the Node | the reason of its condition ` + "`LifecycleTransition`" + `: the state reached, or, if the condition is False, the reason of the event's condition ` + "`Finished`" + `; or the reason of its condition ` + "`GracefulNodeShutdownInProgress`" + ` |

`

// reasonsPage is the reference of all reason codes.
func reasonsPage() string {
	var page strings.Builder
	page.WriteString(reasonsHead)
	last := ""
	for _, e := range reasons.Entries() {
		if e.Code != last {
			fmt.Fprintf(&page, "## %s\n\n", e.Code)
			last = e.Code
		}
		fmt.Fprintf(&page, "%s. %s %s\n\n", where(e), e.Means, helps(e))
	}
	return strings.TrimRight(page.String(), "\n") + "\n"
}

func where(e reasons.Entry) string {
	switch e.Place {
	case reasons.Blocker:
		return "**A blocker**"
	case reasons.NodeState:
		return "**On the Node**, condition `LifecycleTransition`"
	case reasons.GracefulShutdown:
		return fmt.Sprintf("**On the Node**, condition `%s`, %s", e.Place, e.Status)
	case reasons.Maintenance:
		return "**A condition of a NodeMaintenance**"
	case reasons.MaintenanceNode:
		return "**A node of a NodeMaintenance**"
	case reasons.Explained:
		return "**In the output of `kubectl slipway explain`**"
	default:
		return fmt.Sprintf("**Condition `%s`**, %s", e.Place, e.Status)
	}
}

func helps(e reasons.Entry) string {
	switch {
	case e.Helps == "":
		return "No action is needed."
	case e.Passes:
		return "It passes by itself. If it does not: " + strings.TrimPrefix(e.Helps, "if it stays, ") + "."
	default:
		return "Remedy: " + e.Helps + "."
	}
}
