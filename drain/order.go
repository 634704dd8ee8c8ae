// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"slices"
)

// order sorts the pods into steps: all pods of a step may leave together, and a step waits for the one before it. Static
// pods leave last, and before them the pods of those who drain. Before them goes what a rule orders, then DaemonSet pods after others, then pods of
// a lower priority before those of a higher.
//
// Within a step it is the same each time: where a budget allows one pod to go, each pass must pick the same one. It is
// by UID, which is as good as random: drains of several nodes that begin together so begin under different budgets.
func order(leaving []leaver, own string) [][]leaver {
	sorted := slices.SortedFunc(slices.Values(leaving), func(a, b leaver) int {
		return cmp.Or(
			compareSteps(a, b, own),
			cmp.Compare(a.pod.UID, b.pod.UID),
		)
	})
	var steps [][]leaver
	for i, l := range sorted {
		if i == 0 || compareSteps(sorted[i-1], l, own) != 0 {
			steps = append(steps, nil)
		}
		steps[len(steps)-1] = append(steps[len(steps)-1], l)
	}
	return steps
}

func compareSteps(a, b leaver, own string) int {
	return cmp.Or(
		compareFlags(isMirror(a.pod), isMirror(b.pod)),
		compareFlags(own != "" && a.pod.Namespace == own, own != "" && b.pod.Namespace == own),
		cmp.Compare(a.order, b.order),
		compareFlags(typeOf(a.pod) == PodTypeDaemonSet, typeOf(b.pod) == PodTypeDaemonSet),
		cmp.Compare(priorityOf(a.pod), priorityOf(b.pod)),
	)
}

// compareFlags puts what is not before what is.
func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
