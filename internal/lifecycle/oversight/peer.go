// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// controlPlane is the label, and the key of the taint, of control plane nodes.
const controlPlane = "node-role.kubernetes.io/control-plane"

// Peer is a node as the guards see it. Two that are equal are the same to them.
type Peer struct {
	Name string
	// Ready and Schedulable are what the Node says.
	Ready, Schedulable bool
	// ControlPlane: it is a node of the control plane. Reserved: a taint keeps ordinary
	// pods away.
	ControlPlane, Reserved bool
	// Cordoned: by us, and nobody has undone it.
	Cordoned bool
}

// PeerOf is the node as the guards see it. ours says whether a cordon of it is ours.
func PeerOf(node *corev1.Node, ours bool) Peer {
	_, labelled := node.Labels[controlPlane]
	return Peer{
		Name: node.Name, Ready: nodeReady(node), Schedulable: !node.Spec.Unschedulable && node.DeletionTimestamp == nil,
		ControlPlane: labelled, Reserved: slices.ContainsFunc(node.Spec.Taints, reserves),
		Cordoned: ours && node.Spec.Unschedulable,
	}
}

// reserves is true of any taint that ordinary pods do not tolerate, whoever set it: of the
// control plane, of dedicated nodes, of those that an autoscaler is about to delete. That of
// a cordon counts as the cordon.
func reserves(t corev1.Taint) bool {
	return t.Key != corev1.TaintNodeUnschedulable && (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute)
}

// Usable says whether ordinary pods can go to the node.
func (p Peer) Usable() bool { return p.Ready && p.Schedulable && !p.Reserved }

// census counts the other nodes by why pods cannot go to them.
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

// String is for people.
func (c census) String() string {
	return fmt.Sprintf("cordoned: %d, not Ready: %d, tainted: %d, about to be taken out: %d",
		c.cordoned, c.notReady, c.reserved, c.leaving)
}
