// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"slices"
	"strings"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// needed says whether Slipway works on the node, or would if it had the lease.
func needed(f Facts) bool {
	return len(f.CordonedFor) > 0 || slices.ContainsFunc(f.Events, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return needs(f, e) })
}

// needs says whether an event takes its node out, or may at any moment once the gates are
// gone that the controller decides on: those of the guards come after this one.
func needs(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	if returnsNode(f, e) || e.Status.ClaimStatus.Terminal() {
		return false
	}
	return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed || e.DeletionTimestamp == nil && onlyOurGates(e)
}

// returning says whether an event is at work that returns the node: the lease is held until
// it has ended, and not taken for it.
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

// gated says whether an event waits at the gate of leases.
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

// maxPurpose is how much of a purpose others are shown.
const maxPurpose = 256

// purpose says to other holders what Slipway does with the node: for the oldest event that
// needs the lease, or as it was said before, or for what the node is cordoned for.
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
			text += " (asked for by " + e.Spec.RequestedBy + ")"
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
