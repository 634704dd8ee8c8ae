// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"slices"
	"strings"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// needed reports whether Slipway works on the node, or would do so with the lease.
func needed(f Facts) bool {
	return len(f.CordonedFor) > 0 || slices.ContainsFunc(f.Events, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return needs(f, e) })
}

// needs reports whether an event takes its node out of service, or may do so once the controller's gates are removed:
// the gate of guards comes after the gate of leases.
func needs(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	if returnsNode(f, e) || e.Status.ClaimStatus.Terminal() {
		return false
	}
	return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed || e.DeletionTimestamp == nil && onlyOurGates(e)
}

// returning reports whether a claimed event returns the node: Slipway keeps the lease until its end, and does not
// acquire one for it.
func returning(f Facts) bool {
	return slices.ContainsFunc(f.Events, func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed
	})
}

func onlyOurGates(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return !slices.ContainsFunc(e.Spec.Gates, func(g lifecyclev1alpha1.Gate) bool {
		return g.Name != lifecyclev1alpha1.GateLease && g.Name != lifecyclev1alpha1.GateGuards
	})
}

// gated reports whether an event waits at the gate of leases.
func gated(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return slices.Contains(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: lifecyclev1alpha1.GateLease})
}

func pending(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.ClaimStatus == "" || e.Status.ClaimStatus == lifecyclev1alpha1.Pending
}

func returnsNode(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	if driver := e.Status.Driver; driver != nil {
		return driver.End == lifecyclev1alpha1.StateMaintenanceComplete
	}
	t, found := f.Transitions[e.Spec.TransitionName]
	return found && t.Spec.End == lifecyclev1alpha1.StateMaintenanceComplete
}

// maxPurpose limits a purpose, in characters.
const maxPurpose = 256

// purpose returns Slipway's purpose for other holders: the oldest event that needs the lease, or the purpose before, or
// the events that the node is cordoned for.
func purpose(f Facts, before string) string {
	for _, e := range lifecycleevent.OldestFirst(f.Events) {
		if !needs(f, e) {
			continue
		}
		text := "LifecycleEvent " + e.Name
		if e.Spec.Reason != "" {
			text += ": " + e.Spec.Reason
		}
		if e.Spec.RequestedBy != "" {
			text += " (requested by " + e.Spec.RequestedBy + ")"
		}
		return shortened(text)
	}
	if before == "" && len(f.CordonedFor) > 0 {
		return shortened(fmt.Sprintf("cordoned for LifecycleEvent %s", strings.Join(f.CordonedFor, ", ")))
	}
	return before
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > maxPurpose {
		return string(runes[:maxPurpose-1]) + "…"
	}
	return text
}
