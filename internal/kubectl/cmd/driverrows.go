// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// driverFacts are what was read.
type driverFacts struct {
	nodes       []corev1.Node
	transitions []lifecyclev1alpha1.LifecycleTransition
	// agents are the pods of agents, if podsRead.
	agents   []corev1.Pod
	podsRead bool
	// central: the controller serves all nodes, with the drain driver.
	central bool
	now     time.Time
}

// driverRow is a driver on a node: one that is registered there, or one whose transitions
// are for the node.
type driverRow struct {
	Node        string   `json:"node"`
	Driver      string   `json:"driver,omitempty"`
	Transitions []string `json:"transitions,omitempty"`
	// Ready: an event that asks for one of the transitions can be claimed.
	Ready bool `json:"ready"`
	// Message says why not.
	Message string `json:"message,omitempty"`
}

// rows are sorted by node and driver. A node that has nothing of it is in it as well.
func (f driverFacts) rows() []driverRow {
	var rows []driverRow
	for _, node := range f.nodes {
		registered, known := nodestate.Drivers(&node)
		if f.central {
			registered, known = []string{draindriver.DefaultDriverName}, true
		}
		published := f.published(&node)
		names := slices.Sorted(maps.Keys(published))
		for _, name := range registered {
			if published[name] == nil {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			rows = append(rows, driverRow{Node: node.Name, Message: cmp.Or(f.loss(&node), "no driver is registered, and no transition is for this node")})
		}
		slices.Sort(names)
		for _, name := range names {
			row := driverRow{Node: node.Name, Driver: name, Transitions: published[name]}
			row.Message = f.trouble(&node, row, slices.Contains(registered, name), known)
			row.Ready = row.Message == ""
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b driverRow) int { return strings.Compare(a.Node, b.Node) })
	return rows
}

// published are the transitions for a node, by their drivers.
func (f driverFacts) published(node *corev1.Node) map[string][]string {
	found := map[string][]string{}
	for _, t := range f.transitions {
		if transition.Applies(&t, node) {
			found[t.Spec.Driver] = append(found[t.Spec.Driver], t.Name)
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found
}

// trouble is why a driver can do nothing on the node, or empty.
func (f driverFacts) trouble(node *corev1.Node, row driverRow, registered, known bool) string {
	loss := f.loss(node)
	switch {
	case loss != "":
		return loss
	case !known:
		return "nobody has said yet which drivers are registered"
	case !registered && f.central:
		return "the controller has no such driver: in central mode, it drains, and no more"
	case !registered:
		return "not registered on this node: start the driver there"
	case len(row.Transitions) == 0:
		return "no LifecycleTransition of this driver is for this node"
	default:
		return ""
	}
}

// loss is what is the matter with the node's agent, or empty. In central mode, there is none.
func (f driverFacts) loss(node *corev1.Node) string {
	if f.central || !f.podsRead {
		return ""
	}
	var pods []*corev1.Pod
	for i := range f.agents {
		if f.agents[i].Spec.NodeName == node.Name {
			pods = append(pods, &f.agents[i])
		}
	}
	lost := oversight.AgentLoss(oversight.Facts{NodeName: node.Name, Node: node, AgentPods: pods}, f.now)
	if lost == nil {
		return ""
	}
	return lost.Advice()
}
