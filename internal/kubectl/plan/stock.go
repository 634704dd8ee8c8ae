// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Stock is all nodes of a cluster, with what is free there while all pods are where they are:
// worked out once for many plans, of which each drains other nodes.
type Stock struct {
	rooms   []*room // by name
	picky   []placedPod
	largest corev1.ResourceList
}

// NewStock works it out.
func NewStock(nodes []*corev1.Node, pods []*corev1.Pod) *Stock {
	c := &cluster{largest: corev1.ResourceList{}}
	by := map[string]*room{}
	for _, node := range nodes {
		r := newRoom(node)
		by[node.Name] = r
		c.rooms = append(c.rooms, r)
		for name, q := range r.free {
			if most, ok := c.largest[name]; !ok || q.Cmp(most) > 0 {
				c.largest[name] = q.DeepCopy()
			}
		}
	}
	slices.SortFunc(c.rooms, func(a, b *room) int { return cmp.Compare(a.node.Name, b.node.Name) })
	for _, pod := range pods {
		if r := by[pod.Spec.NodeName]; r != nil && !isFinished(pod) {
			c.take(r, pod)
		}
	}
	return &Stock{rooms: c.rooms, picky: c.picky, largest: c.largest}
}

func newRoom(node *corev1.Node) *room {
	return &room{node: node, free: node.Status.Allocatable.DeepCopy(), ports: map[hostPort]bool{}}
}

// lent is a room of a stock that is copied when something is taken from it.
func (r *room) lent() *room {
	lent := *r
	lent.isLent, lent.pods = true, slices.Clip(r.pods)
	return &lent
}

// own has a room that was lent be one by itself.
func (r *room) own() {
	if r.isLent {
		r.isLent, r.free, r.ports = false, r.free.DeepCopy(), maps.Clone(r.ports)
	}
}
