// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/nodelease"
)

// Facts is all that is known when the next steps are chosen. Next changes none of it.
type Facts struct {
	// Maintenances are all there are.
	Maintenances []*slipwayv1alpha1.NodeMaintenance
	// Nodes are all there are.
	Nodes []Node
	// Events are the LifecycleEvents of maintenances: those with the label.
	Events []*lifecyclev1alpha1.LifecycleEvent
	// Jobs are those of maintenances, in Slipway's own namespace.
	Jobs []*batchv1.Job
	// Refused are the steps that could not be done, by [Key], and what the API server, or a
	// policy, has against them. They are done again, later and later.
	Refused map[string]string
	// Templates are the PodTemplates of Slipway's own namespace, by name.
	Templates map[string]*corev1.PodTemplate
	// NotReady are the pods that do not run now, the oldest first: see [ReadNotReady].
	NotReady []NotReadyPod
	// Namespace is Slipway's own.
	Namespace string
	// KeptAway are the pods of DaemonSets that were kept away from a node, and are on none.
	KeptAway []KeptPod
	// KeptAwayUnknown: they are watched for, and it is not known yet which there are.
	KeptAwayUnknown bool
	// Unscheduled are the pods that no node takes, and BudgetStatuses those of the disruption
	// budgets that select them, by namespace/name. They are asked for by Decision.Starving;
	// without, no deadlock is found.
	Unscheduled    []Unscheduled
	BudgetStatuses map[string]policyv1.PodDisruptionBudgetStatus
	// Leases: Slipway takes the lease of each node that it works on. Without, those of others
	// mean nothing to it.
	Leases bool
}

// Unscheduled is a pod that no node takes.
type Unscheduled struct {
	// Pod has what it asks of nodes, and its conditions.
	Pod *corev1.Pod
	// Budgets select it, as namespace/name.
	Budgets []string
}

// Node is a Node, and what is known of it.
type Node struct {
	*corev1.Node
	// CordonedFor are the UIDs of the LifecycleEvents that it is cordoned for.
	CordonedFor []types.UID
	// CordonedBefore: it was cordoned by somebody else before, and stays so.
	CordonedBefore bool
	// Records are what the Node says of maintenances that are done with it.
	Records []Record
	// Checked: it is known which pods of DaemonSets are not Ready. It is asked for by
	// Decision.Check.
	Checked bool
	// Unready are the pods of DaemonSets on the node that are not Ready, as namespace/name.
	Unready []string
	// Budgets are the disruption budgets of its pods, as namespace/name: of all nodes, or of
	// none. They are asked for by Decision.Budgets.
	Budgets []string
	// Lease is who has the node's lease, as it was read last. Without a holder, nobody has; with
	// one and no end, it has it until it gives it back.
	Lease nodelease.Held
}

// Record says on a Node that a maintenance is done with it.
type Record struct {
	// UID of the NodeMaintenance.
	UID types.UID `json:"uid"`
	// State of the node.
	State RecordState `json:"state"`
	// Retry is spec.retry of the maintenance at that time.
	Retry int64 `json:"retry,omitempty"`
	// Reason is a CamelCase code, of a failure, or of what was accepted of a node that is back.
	Reason string `json:"reason,omitempty"`
	// Message for people, of the same; at most 256 characters.
	Message string `json:"message,omitempty"`
	// At is when, to the second.
	At time.Time `json:"at"`
	// Event is the one that has failed, of a failure.
	Event types.UID `json:"event,omitempty"`
	// Cordon is an event for which the node was still cordoned then.
	Cordon types.UID `json:"cordon,omitempty"`
	// Times is how often the node gave way to others, of a record HeldBack.
	Times int `json:"times,omitempty"`
	// Behind are the UIDs of the drains that it gave way to, with commas between.
	Behind string `json:"behind,omitempty"`
}

// RecordState is how a maintenance is done with a node.
type RecordState string

// The states.
const (
	// RecordDone: the work is done. The node may still be out.
	RecordDone RecordState = "Done"
	// RecordReturned: the node is back, and was healthy, or somebody has accepted it as it was.
	RecordReturned RecordState = "Returned"
	// RecordFailed: something has failed. Raising spec.retry has it tried again.
	RecordFailed RecordState = "Failed"
	// RecordHeldBack: the drain that it names gives way to others that wait for it. The
	// maintenance is not done with the node.
	RecordHeldBack RecordState = "HeldBack"
)

// For is an entry of slipwayv1alpha1.MaintenancesAnnotation on the LifecycleEvents of a
// node: a maintenance that they are for.
type For struct {
	UID  types.UID `json:"uid"`
	Name string    `json:"name"`
	// Retry is spec.retry of the maintenance when it took the node up.
	Retry int64 `json:"retry,omitempty"`
	// Since is when it did so, where that was after the creation of the event.
	Since time.Time `json:"since,omitzero"`
	// Begun: its Job was seen. If it is gone then, somebody has deleted it.
	Begun bool `json:"begun,omitempty"`
	// Worked is when its work was seen to be done, where hooks hold the node up after it.
	Worked time.Time `json:"worked,omitzero"`
	// Released: nobody needs the node any more, and it is on its way back. All of the event
	// are at the same time, and stay so.
	Released bool `json:"released,omitempty"`
}
