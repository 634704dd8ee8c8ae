// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"regexp"
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// The forms that the API server accepts for conditions of an event
// (metav1.Condition).
var (
	conditionType   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
	conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
)

// ownConditions are written by the agent and the controller, and no driver's.
var ownConditions = []string{
	lifecyclev1alpha1.ConditionClaimable,
	lifecyclev1alpha1.ConditionDriverAvailable,
	lifecyclev1alpha1.ConditionStalled,
	lifecyclev1alpha1.ConditionGuardsPassed,
	lifecyclev1alpha1.ConditionLeaseHeld,
	lifecyclev1alpha1.ConditionFinished,
}

// ownNodeConditions belong to the agent and to the kubelet.
var ownNodeConditions = []string{
	lifecyclev1alpha1.NodeConditionLifecycleTransition,
	"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable",
}

// checkConditions is empty where all conditions of the answer can be written, and
// else names the field that cannot.
func checkConditions(answer *Answer) string {
	if why := checkList("event_conditions", answer.EventConditions, ownConditions); why != "" {
		return why
	}
	return checkList("node_conditions", answer.NodeConditions, ownNodeConditions)
}

func checkList(field string, conditions []Condition, taken []string) string {
	seen := map[string]bool{}
	for i, c := range conditions {
		if seen[c.Type] {
			return fmt.Sprintf("%s[%d].type %q, which is there twice", field, i, c.Type)
		}
		seen[c.Type] = true
		if why := checkCondition(c, taken); why != "" {
			return fmt.Sprintf("%s[%d].%s", field, i, why)
		}
	}
	return ""
}

func checkCondition(c Condition, taken []string) string {
	switch {
	case !conditionType.MatchString(c.Type) || len(c.Type) > 316:
		return fmt.Sprintf("type %q, which is not a condition type", c.Type)
	case slices.Contains(taken, c.Type):
		return fmt.Sprintf("type %q, which is not the driver's to set", c.Type)
	case c.Status != "True" && c.Status != "False" && c.Status != "Unknown":
		return fmt.Sprintf(`status %q; want "True", "False" or "Unknown"`, c.Status)
	case !conditionReason.MatchString(c.Reason) || len(c.Reason) > 1024:
		return fmt.Sprintf("reason %q, which is not a CamelCase code", c.Reason)
	default:
		return ""
	}
}
