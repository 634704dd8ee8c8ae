// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"github.com/slipway-k8s/slipway/nodelease"
)

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
	case returnsNode(f, e): // it needs no lease
		return pass(e)
	case !needs(f, e) || !is:
		return Decision{}
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
