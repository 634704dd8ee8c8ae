// SPDX-License-Identifier: Apache-2.0

package rollout

import slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"

// Facts are what is known at one moment.
type Facts struct {
	// Rollout says how many.
	Rollout slipwayv1alpha1.MaintenanceRollout
	// Nodes are those that the maintenance selects, in any order.
	Nodes []Node
	// ControlPlaneOut are nodes of the control plane that are out or down, whoever selects
	// them; also those that another maintenance lets begin at this moment.
	ControlPlaneOut []string
	// PendingPods is how many are Pending or not Ready that were created since the maintenance
	// began, and PendingNames are a few of them, as namespace/name, in the order in which they
	// are to be named.
	PendingPods  int
	PendingNames []string
}

// Node is one that is selected.
type Node struct {
	Name  string
	State State
	// Domain is its value of the topology key.
	Domain string
	// ControlPlane: it is of the control plane.
	ControlPlane bool
	// Down: it is not Ready, or is out for somebody else. It counts as out.
	Down bool
	// Budgets are the disruption budgets of its pods, as namespace/name. Nodes that share none
	// go together, before those that do. They are known of all nodes, or of none: where
	// Decision.Budgets asks for them, a decision that was made without is not to be carried
	// out while they may still become known.
	Budgets []string
}

// State is where a node is on its way.
type State int

// The states.
const (
	// Waiting: it has not begun.
	Waiting State = iota
	// Out: it is between the moment at which it began and its return.
	Out
	// Returned: it is done with.
	Returned
	// Failed: it needs somebody, and may be out. It counts as out.
	Failed
	// FailedBack: it has failed, and takes pods.
	FailedBack
	// HeldBack: it waits, takes pods, and does not begin yet.
	HeldBack
)

// Decision is who begins, or why nobody does.
type Decision struct {
	// Begin are the names of the nodes that begin now, in order.
	Begin []string
	// Reason is a code of slipwayv1alpha1, such as ReasonMaxUnavailable, of what holds back
	// those that wait after these. Empty: none waits.
	Reason string
	// Message says the same for people.
	Message string
	// Budgets: who begins hangs on the budgets of the nodes, now or when others return.
	Budgets bool
}
