// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"github.com/slipway-k8s/slipway/nodelease"
)

// needed reports whether Slipway works on the node, or would do so with the lease.
func needed(f Facts) bool {
	return len(f.CordonedFor) > 0 || slices.ContainsFunc(f.Events, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return needs(f, e) })
}

// needs reports whether an event takes its node out of service, or may do so once the controller's gates are removed:
// the gate of guards comes after the gate of leases.
func needs(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	if lifecycleevent.ReturnsNode(e, f.Transitions) || e.Status.ClaimStatus.Terminal() {
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
		if hold.OfMaintenance(e) || e.Spec.RequestedBy != "" {
			text += " (" + hold.Actor(hold.New(f.Node, e)) + ")"
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

// admit writes the holder of the lease to the event, and removes the event's gate if Slipway is the holder.
func admit(f Facts, e *lifecyclev1alpha1.LifecycleEvent, held nodelease.Held, is bool, now time.Time) Decision {
	condition := func(value metav1.ConditionStatus, reason, message string) Decision {
		const condition = lifecyclev1alpha1.ConditionLeaseHeld
		status, changed := lifecycleevent.WithCondition(e, condition, value, reason, reasons.Advised(condition, reason, message), now)
		if !changed {
			return Decision{}
		}
		return Decision{Step: WriteStatus{Event: e, Status: status}}
	}
	switch {
	case lifecycleevent.ReturnsNode(e, f.Transitions): // it needs no lease
		return pass(e)
	case !needs(f, e) || !is:
		return Decision{}
	case shutdown.Is(e) && held.Holder != nodelease.Slipway: // the machine stops in any case
		return pass(e)
	case held.User != "" && held.User == e.Spec.RequestedBy:
		return condition(metav1.ConditionTrue, lifecyclev1alpha1.ReasonHeldByRequester,
			fmt.Sprintf("node %q is leased to %q, the requester of this event", f.NodeName, held.Holder)).Or(pass(e))
	case held.Holder == nodelease.Slipway:
		// The condition comes first, because it explains the removal of the gate.
		return condition(metav1.ConditionTrue, lifecyclev1alpha1.ReasonHeld, fmt.Sprintf("Slipway holds the lease of node %q", f.NodeName)).Or(pass(e))
	case lost(e):
		return condition(metav1.ConditionFalse, lifecyclev1alpha1.ReasonLeaseLost, taken(f, held))
	default:
		return condition(metav1.ConditionFalse, lifecyclev1alpha1.ReasonHeldByAnother, taken(f, held))
	}
}

// pass removes the gate of an event that waits at it.
func pass(e *lifecyclev1alpha1.LifecycleEvent) Decision {
	if !gated(e) || !pending(e) || e.DeletionTimestamp != nil || !onlyOurGates(e) {
		return Decision{}
	}
	return Decision{Step: RemoveGate{Event: e}}
}

// lost reports whether the event was claimed while Slipway held the lease.
func lost(e *lifecyclev1alpha1.LifecycleEvent) bool {
	c := apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionLeaseHeld)
	return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed && c != nil && c.Reason != lifecyclev1alpha1.ReasonHeldByAnother
}

// taken returns the holder of the lease, its purpose, and the end of the lease, unless the holder renews it.
func taken(f Facts, held nodelease.Held) string {
	text := fmt.Sprintf("node %q is leased to %q", f.NodeName, held.Holder)
	if held.Purpose != "" {
		text += fmt.Sprintf(" for %q", shortened(held.Purpose))
	}
	acquired, renewed := f.Lease.Spec.AcquireTime, f.Lease.Spec.RenewTime
	switch {
	case held.Administrator:
		return text + ", until its holder releases it"
	case held.Until.IsZero(), acquired == nil, renewed == nil, !renewed.Equal(acquired):
		return text
	default:
		return text + fmt.Sprintf(", until %s unless it is renewed", held.Until.UTC().Format(time.RFC3339))
	}
}
