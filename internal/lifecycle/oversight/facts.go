// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/freeze"
	"github.com/slipway-k8s/slipway/internal/node/hold"
)

// AgentLabels returns the labels that only the agents' pods have.
func AgentLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "slipway", "app.kubernetes.io/component": "node-agent"}
}

// Facts is all that is known of one node when the controller's next step for it is
// chosen. Next changes none of it.
type Facts struct {
	// NodeName is the name of the node.
	NodeName string
	// Node is nil where there is no such Node.
	Node *corev1.Node
	// CordonedFor are the UIDs of the events that the Node is cordoned for.
	CordonedFor []types.UID
	// AgentPods are the agents' pods on the node: two while it is being updated.
	AgentPods []*corev1.Pod
	// Lost is the memory of the agent's loss.
	Lost Sighting
	// Events are those bound to the node.
	Events []*lifecyclev1alpha1.LifecycleEvent
	// OfNode are all events bound to the node, also where Events has only one of them.
	OfNode []*lifecyclev1alpha1.LifecycleEvent
	// Holds are the holds of actors on the node.
	Holds []*hold.Hold
	// Transitions by name.
	Transitions map[string]*lifecyclev1alpha1.LifecycleTransition

	// Peers are the other nodes, without nodes that make no difference, and PeerEvents their events. OnlyNode: the cluster
	// has no other node. Only guards need them: they may be missing if no event of the node is Guarded.
	Peers      []Peer
	OnlyNode   bool
	PeerEvents []*lifecyclev1alpha1.LifecycleEvent
	// Fleet has the NodeAvailabilityBudgets, with the same condition.
	Fleet Fleet
	// Freezes are all Freezes, with the same condition.
	Freezes []*freeze.Freeze

	// Central: drivers can register with the controller, which drives the events that it claims. Alone: and the cluster has no
	// agents, so that the controller also reports on events without a claimer.
	Central, Alone bool
	// NodeLeases: the controller holds the leases of nodes that are taken out.
	NodeLeases bool
	// StrictGuards: the guards hold an event of the only Node of a cluster, too.
	StrictGuards bool
	// Since is the time of the controller's first pass.
	Since time.Time
	// FinishedEventTTL is the time between the end of an event and its deletion.
	FinishedEventTTL time.Duration
}
