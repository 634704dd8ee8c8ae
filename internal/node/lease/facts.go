// SPDX-License-Identifier: Apache-2.0

package lease

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Facts is all that is known of one node when the next step for its lease is chosen. Next
// changes none of it.
type Facts struct {
	// NodeName is the name of the node.
	NodeName string
	// Node is nil where there is no such Node.
	Node *corev1.Node
	// CordonedFor are the names of the events that the Node is cordoned for. It is empty
	// where the Node takes pods, whatever is noted there.
	CordonedFor []string
	// Lease is nil where there is none.
	Lease *coordinationv1.Lease
	// Events are those bound to the node.
	Events []*lifecyclev1alpha1.LifecycleEvent
	// Transitions by name.
	Transitions map[string]*lifecyclev1alpha1.LifecycleTransition
}
