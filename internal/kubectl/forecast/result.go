// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
)

// Forecast is the prediction for a maintenance. Each of its nodes is in one batch, or in Left.
type Forecast struct {
	// Maintenance is its name.
	Maintenance string `json:"maintenance"`
	// TopologyKey is the topology key of its rollout.
	TopologyKey string `json:"topologyKey,omitempty"`
	// Conditions must be true before the first batch starts. If there are none, it starts at once.
	Conditions []string `json:"conditions,omitempty"`
	// Deadline is the latest start of a node.
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Held is the reason that waiting nodes do not start.
	Held *Held `json:"held,omitempty"`
	// Batches are in their order of start.
	Batches []Batch `json:"batches"`
	// Left are the nodes that are in no batch.
	Left []Left `json:"left,omitempty"`
	// Unselected is the number of nodes that the maintenance does not select.
	Unselected int `json:"unselected"`
	// Impossible are the budgets that never allow an eviction.
	Impossible []Impossible `json:"impossible,omitempty"`
	// Caveats name failed reads, with the effect on the forecast.
	Caveats []string `json:"caveats,omitempty"`
	// NotLookedAt are influences that the forecast ignores.
	NotLookedAt []string `json:"notLookedAt"`
}

// Held is the reason that nodes wait.
type Held struct {
	// Reason is a code, such as Paused, or MaxUnavailable. It is one of a NodeMaintenance's
	// conditions.
	Reason string `json:"reason"`
	// Message describes the reason.
	Message string `json:"message"`
}

// Batch are nodes that begin together.
type Batch struct {
	// Number counts from 1.
	Number int `json:"number"`
	// Condition must be true before the batch starts, in addition to the return of the batch before
	// it.
	Condition string `json:"condition,omitempty"`
	// Nodes are in the order in which they begin.
	Nodes []Node `json:"nodes"`
	// Replacements counts the replacements of the pods that leave, without Fit. It is missing if
	// the pods or nodes of the cluster could not be read.
	Replacements *plan.Replacements `json:"replacements,omitempty"`
}

// Node is one that begins.
type Node struct {
	Name string `json:"name"`
	// Domain is its value of the topology key.
	Domain       string `json:"domain,omitempty"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	// Leased names another holder of its lease, or the users that hold the node. The node waits for them.
	Leased string `json:"leased,omitempty"`
	// Notes are special circumstances, such as a node that is down already.
	Notes []string `json:"notes,omitempty"`
	// Drain is missing if the cluster's pods could not be read.
	Drain *Drain `json:"drain,omitempty"`
}

// Drain predicts the drain of a node.
type Drain struct {
	// Pods is the number of its pods, and Leave the number of pods that must leave.
	Pods  int `json:"pods"`
	Leave int `json:"leave"`
	// Blockers would block the drain now.
	Blockers []Blocker `json:"blockers,omitempty"`
}

// Blocker is something that blocks some pods of a node.
type Blocker struct {
	// Reason, By and Message are as in [drain.PodOutlook].
	Reason  drain.Reason `json:"reason"`
	By      string       `json:"by,omitempty"`
	Message string       `json:"message"`
	// Pods are namespace/name.
	Pods []string `json:"pods"`
}

// Left is a node of the maintenance that is in no batch.
type Left struct {
	Name         string `json:"name"`
	Domain       string `json:"domain,omitempty"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	// State is the reason that it is in no batch.
	State LeftState `json:"state"`
	// Reason and Message describe a failure.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// LeftState is the reason that a node is in no batch.
type LeftState string

// The states.
const (
	// LeftOut: the maintenance has drained it already.
	LeftOut LeftState = "Out"
	// LeftReturned: it returned to service already.
	LeftReturned LeftState = "Returned"
	// LeftFailed: it has failed, and needs an administrator.
	LeftFailed LeftState = "Failed"
	// LeftWaiting: it would not start; [Forecast.Held] has the reason.
	LeftWaiting LeftState = "Waiting"
)

// Impossible is a budget that allows no eviction, or several that select the same pod.
type Impossible struct {
	Namespace string `json:"namespace"`
	// Budgets are the names, as in [Blocker.By].
	Budgets string       `json:"budgets"`
	Reason  drain.Reason `json:"reason"`
	Message string       `json:"message"`
	// Nodes are the nodes whose drains it blocks, and Pods is the number of pods there.
	Nodes []string `json:"nodes"`
	Pods  int      `json:"pods"`
}

// Blocks reports whether the maintenance would not end by itself, as far as the facts show. A
// completed maintenance ends.
func (f Forecast) Blocks() bool {
	if f.Held != nil && f.Held.Reason != slipwayv1alpha1.ReasonCompleted || f.count(LeftFailed) > 0 {
		return true
	}
	for _, b := range f.Batches {
		for _, n := range b.Nodes {
			if n.blocks() {
				return true
			}
		}
	}
	return false
}

func (n Node) blocks() bool { return n.Leased != "" || n.Drain != nil && len(n.Drain.Blockers) > 0 }

func (f Forecast) count(state LeftState) (count int) {
	for _, l := range f.Left {
		if l.State == state {
			count++
		}
	}
	return count
}
