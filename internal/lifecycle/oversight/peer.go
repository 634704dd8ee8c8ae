// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// controlPlane is the label, and the key of the taint, of control plane nodes.
const controlPlane = "node-role.kubernetes.io/control-plane"

// Peer is a node from the guards' point of view. They do not distinguish equal peers.
type Peer struct {
	Name string
	// Ready and Schedulable come from the Node's status and spec.
	Ready, Schedulable bool
	// ControlPlane: a control plane node. Reserved: a taint keeps ordinary pods away.
	ControlPlane, Reserved bool
	// Cordoned: by Slipway, and still unschedulable.
	Cordoned bool
}

// PeerOf returns the node from the guards' point of view. bySlipway means that Slipway has recorded a cordon of it.
func PeerOf(node *corev1.Node, bySlipway bool) Peer {
	_, labelled := node.Labels[controlPlane]
	return Peer{
		Name: node.Name, Ready: nodeReady(node), Schedulable: !node.Spec.Unschedulable && node.DeletionTimestamp == nil,
		ControlPlane: labelled, Reserved: slices.ContainsFunc(node.Spec.Taints, reserves),
		Cordoned: bySlipway && node.Spec.Unschedulable,
	}
}

// reserves returns whether ordinary pods do not tolerate the taint: a taint of the control plane, of dedicated nodes, of nodes
// that an autoscaler is about to delete. The taint of a cordon counts as the cordon.
func reserves(t corev1.Taint) bool {
	return t.Key != corev1.TaintNodeUnschedulable && (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute)
}

// Usable returns whether ordinary pods can start on the node.
func (p Peer) Usable() bool { return p.Ready && p.Schedulable && !p.Reserved }

// census counts the other nodes by the cause that keeps pods away.
type census struct{ usable, cordoned, notReady, reserved, leaving int }

func countPeers(f Facts, leaving map[string]bool) census {
	var c census
	for _, p := range f.Peers {
		switch {
		case !p.Schedulable:
			c.cordoned++
		case !p.Ready:
			c.notReady++
		case p.Reserved:
			c.reserved++
		case leaving[p.Name]:
			c.leaving++
		default:
			c.usable++
		}
	}
	return c
}

// String returns the counts for a message.
func (c census) String() string {
	return fmt.Sprintf("cordoned: %d, not Ready: %d, tainted: %d, about to be taken out: %d",
		c.cordoned, c.notReady, c.reserved, c.leaving)
}
