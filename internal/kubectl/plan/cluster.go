// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"

	"github.com/slipway-k8s/slipway/drain"
)

// cluster is the state of all nodes and pods after the drains.
type cluster struct {
	facts Facts
	rooms []*room
	// picky are the pods that do not want some others beside them.
	picky []placedPod
	// largest is the most that a node has of each resource.
	largest corev1.ResourceList
}

// room is a node, and what is free there.
type room struct {
	node *corev1.Node
	// drained: it is one of those that are drained.
	drained bool
	// isLent: it is part of a stock, and read-only.
	isLent bool
	free   corev1.ResourceList
	pods   []*corev1.Pod
	ports  map[hostPort]bool
}

type placedPod struct {
	pod  *corev1.Pod
	room *room
}

func newCluster(f Facts, outlooks []drain.Outlook) *cluster {
	stock := f.Stock
	if stock == nil {
		stock = NewStock(f.Nodes, f.Pods)
	}
	c := &cluster{facts: f, largest: stock.largest}
	drained, gone := map[string]bool{}, map[types.UID]bool{}
	for _, o := range outlooks {
		drained[o.Node] = true
		for _, p := range o.Pods {
			gone[p.Pod.UID] = leaves(p) || p.Verdict == drain.AwaitCompletion || p.Verdict == drain.Ending
		}
	}
	for _, p := range stock.picky {
		if !drained[p.room.node.Name] {
			c.picky = append(c.picky, p)
		}
	}
	for _, full := range stock.rooms {
		if !drained[full.node.Name] {
			c.rooms = append(c.rooms, full.lent())
			continue
		}
		r := newRoom(full.node)
		r.drained = true
		c.rooms = append(c.rooms, r)
		for _, pod := range full.pods {
			if !gone[pod.UID] {
				c.take(r, pod)
			}
		}
	}
	return c
}

// take puts a pod onto a node.
func (c *cluster) take(r *room, pod *corev1.Pod) {
	r.own()
	r.pods = append(r.pods, pod)
	for name, want := range requestsOf(pod) {
		if free, ok := r.free[name]; ok {
			free.Sub(want)
			r.free[name] = free
		}
	}
	for _, p := range hostPortsOf(pod) {
		r.ports[p] = true
	}
	if len(antiAffinityOf(pod)) > 0 {
		c.picky = append(c.picky, placedPod{pod, r})
	}
}

// requestsOf returns the resources that the scheduler counts for a pod, and the pod itself.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	wants := resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true})
	wants[corev1.ResourcePods] = onePod
	return wants
}

// size returns the largest share of a node that a pod requests.
func (c *cluster) size(pod *corev1.Pod) float64 {
	share := 0.0
	for name, want := range requestsOf(pod) {
		if most, ok := c.largest[name]; ok && !most.IsZero() {
			share = max(share, want.AsApproximateFloat64()/most.AsApproximateFloat64())
		}
	}
	return share
}

func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Stock is the current state of all nodes of a cluster, with their free resources. It is computed
// once for many plans, and each plan drains other nodes.
type Stock struct {
	rooms   []*room // by name
	picky   []placedPod
	largest corev1.ResourceList
}

// NewStock computes the free resources.
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
