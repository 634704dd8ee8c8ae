// SPDX-License-Identifier: Apache-2.0

package request

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// DrainName is the name of the event that drains a node. There is one at a time.
func DrainName(node string) string { return "drain-" + node }

// ReturnName is the name of the event that returns a node.
func ReturnName(node string) string { return "uncordon-" + node }

// Return is the event that puts a node back into service.
func Return(node, reason string) *lifecyclev1alpha1.LifecycleEvent {
	return newEvent(ReturnName(node), lifecycleevent.ReturnTransition, node, reason)
}

func newEvent(name, transition, node, reason string) *lifecyclev1alpha1.LifecycleEvent {
	return &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: lifecyclev1alpha1.LifecycleEventSpec{
			TransitionName: transition, BindingNode: node, Reason: reason,
		},
	}
}
