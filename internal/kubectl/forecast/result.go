// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
)

// Forecast is what a maintenance would do, as programs read it. Each of its nodes is in one of
// the batches, or among those left.
type Forecast struct {
	// Maintenance is its name.
	Maintenance string `json:"maintenance"`
	// TopologyKey is that of its rollout.
	TopologyKey string `json:"topologyKey,omitempty"`
	// Conditions are what has to happen before the first batch begins. Empty: it begins at once.
	Conditions []string `json:"conditions,omitempty"`
	// Deadline is when the last node may begin.
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Held is why those that are left, and wait, do not begin.
	Held *Held `json:"held,omitempty"`
	// Batches are those that begin together, in their order.
	Batches []Batch `json:"batches"`
	// Left are the nodes that are in no batch.
	Left []Left `json:"left,omitempty"`
	// Unselected is how many nodes of the cluster it is not for.
	Unselected int `json:"unselected"`
	// Impossible are the budgets that never allow an eviction.
	Impossible []Impossible `json:"impossible,omitempty"`
	// Caveats say what could not be read, and what that makes unsure.
	Caveats []string `json:"caveats,omitempty"`
	// NotLookedAt are influences that the forecast ignores.
	NotLookedAt []string `json:"notLookedAt"`
}

// Held is why nodes wait.
type Held struct {
	// Reason is a code, such as Paused, or MaxUnavailable. It is one of a NodeMaintenance's
	// conditions.
	Reason string `json:"reason"`
	// Message says it for people.
	Message string `json:"message"`
}

// Batch are nodes that begin together.
type Batch struct {
	// Number counts from 1.
	Number int `json:"number"`
	// Condition is what has to happen before it begins, besides the return of the last one.
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
	// Leased names another holder of its lease, for whom it waits. Empty: there is none.
	Leased string `json:"leased,omitempty"`
	// Notes are what is particular about it, such as that it is down already.
	Notes []string `json:"notes,omitempty"`
	// Drain is missing if its pods are not known.
	Drain *Drain `json:"drain,omitempty"`
}

// Drain is what becomes of the pods of a node.
type Drain struct {
	// Pods is how many there are, and Leave how many of them must go.
	Pods  int `json:"pods"`
	Leave int `json:"leave"`
	// Blockers are what would keep the drain from its end now.
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
	// State is where it is.
	State LeftState `json:"state"`
	// Reason and Message are those of a failure.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// LeftState is why a node is in no batch.
type LeftState string

// The states.
const (
	// LeftOut: it is out for the maintenance already.
	LeftOut LeftState = "Out"
	// LeftReturned: the maintenance is done with it.
	LeftReturned LeftState = "Returned"
	// LeftFailed: it has failed, and needs an administrator.
	LeftFailed LeftState = "Failed"
	// LeftWaiting: it would not begin, for what [Forecast.Held] says.
	LeftWaiting LeftState = "Waiting"
)

// Impossible is a budget that allows no eviction, or several that select the same pod.
type Impossible struct {
	Namespace string `json:"namespace"`
	// Budgets are the names, as in [Blocker.By].
	Budgets string       `json:"budgets"`
	Reason  drain.Reason `json:"reason"`
	Message string       `json:"message"`
	// Nodes are those whose drains it blocks, and Pods how many pods there.
	Nodes []string `json:"nodes"`
	Pods  int      `json:"pods"`
}

// Blocks tells whether the maintenance would not end by itself, as far as is known. One that
// ends early does.
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
