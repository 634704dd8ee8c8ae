// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"github.com/slipway-k8s/slipway/nodelease"
)

// admit says on the event who holds the lease, and removes its gate where Slipway does.
func admit(f Facts, e *lifecyclev1alpha1.LifecycleEvent, held nodelease.Held, is bool, now time.Time) Decision {
	switch {
	case returnsNode(f, e):
		// It needs no lease, and nothing must be in its way.
		return pass(e)
	case !needs(f, e) || !is:
		return Decision{}
	case held.Holder == nodelease.Slipway:
		// First the note: what has passed says why.
		return note(e, metav1.ConditionTrue, lifecyclev1alpha1.ReasonHeld,
			fmt.Sprintf("Slipway holds the lease of node %q", f.NodeName), now).Or(pass(e))
	case lost(e):
		return note(e, metav1.ConditionFalse, lifecyclev1alpha1.ReasonLeaseLost, taken(f, held), now)
	default:
		return note(e, metav1.ConditionFalse, lifecyclev1alpha1.ReasonHeldByAnother, taken(f, held), now)
	}
}

// pass removes the gate of an event that waits at it.
func pass(e *lifecyclev1alpha1.LifecycleEvent) Decision {
	if !gated(e) || !pending(e) || e.DeletionTimestamp != nil || !onlyOurGates(e) {
		return Decision{}
	}
	return do(RemoveGate{Event: e})
}

// lost says whether the event is at work under a lease that was ours.
func lost(e *lifecyclev1alpha1.LifecycleEvent) bool {
	c := apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionLeaseHeld)
	return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed && c != nil && c.Reason != lifecyclev1alpha1.ReasonHeldByAnother
}

// taken says who holds the lease, why, and until when if that stays true: of a lease that
// is renewed all the time, nobody knows.
func taken(f Facts, held nodelease.Held) string {
	text := fmt.Sprintf("node %q is leased to %q", f.NodeName, held.Holder)
	if held.Purpose != "" {
		text += fmt.Sprintf(" for %q", shortened(held.Purpose))
	}
	switch {
	case held.Administrator:
		return text + ", until it is given back"
	case held.Until.IsZero() || renewed(f.Lease):
		return text
	default:
		return text + fmt.Sprintf(", until %s unless it is renewed", held.Until.UTC().Format(time.RFC3339))
	}
}

// renewed says whether the lease was renewed since it was acquired.
func renewed(lease *coordinationv1.Lease) bool {
	acquired, renewed := lease.Spec.AcquireTime, lease.Spec.RenewTime
	return acquired == nil || renewed == nil || !renewed.Equal(acquired)
}

// note writes the condition, unless it stands there already.
func note(e *lifecyclev1alpha1.LifecycleEvent, value metav1.ConditionStatus, reason, message string, now time.Time) Decision {
	const condition = lifecyclev1alpha1.ConditionLeaseHeld
	status, changed := lifecycleevent.WithCondition(e, condition, value, reason, reasons.Advised(condition, reason, message), now)
	if !changed {
		return Decision{}
	}
	return do(WriteStatus{Event: e, Status: status})
}
