// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// What follows is for package oversight: an event ends in one way, whoever ends it.

// Ended is the status of e once it has ended so.
func Ended(e *lifecyclev1alpha1.LifecycleEvent, phase lifecyclev1alpha1.ClaimStatus, reason, message string, now time.Time) lifecyclev1alpha1.LifecycleEventStatus {
	status := e.Status.DeepCopy()
	conclude(status, e, phase, reason, message, now)
	return *status
}

// Missed says, for an event whose time is up, what was not reached and how far it was.
func Missed(e *lifecyclev1alpha1.LifecycleEvent) string { return missed(e) }

// NodeConditions are those of the Node that must be written when e has ended.
func NodeConditions(node *corev1.Node, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) []corev1.NodeCondition {
	wanted := append([]corev1.NodeCondition{lifecycleCondition(e)}, concluded(node, e)...)
	if mark, ok := set(node, wanted, true, now).Step.(MarkNode); ok {
		return mark.Conditions
	}
	return nil
}
