// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"fmt"
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
	// Refused are the steps that the API server or a policy refuses, by [Key], with its messages.
	// They are repeated at growing intervals.
	Refused map[string]string
	// Templates are the PodTemplates of Slipway's own namespace, by name.
	Templates map[string]*corev1.PodTemplate
	// NotReady are the pods that are to run and are not ready, the oldest first: see
	// [ReadNotReady].
	NotReady []NotReadyPod
	// Namespace is Slipway's own.
	Namespace string
	// KeptAway are the pods of DaemonSets that were kept away from a node, and are on none.
	KeptAway []KeptPod
	// KeptAwayUnknown: their watch has not shown them all yet.
	KeptAwayUnknown bool
	// Unscheduled are the pods that the scheduler finds no node for, and BudgetStatuses the
	// statuses of the PodDisruptionBudgets that select them, by namespace/name. Decision.Starving
	// asks for them; without them, no deadlock is found.
	Unscheduled    []Unscheduled
	BudgetStatuses map[string]policyv1.PodDisruptionBudgetStatus
	// Leases: Slipway takes the lease of each node that it works on, and respects those of other
	// tools.
	Leases bool
}

// Unscheduled is a pod that the scheduler finds no node for.
type Unscheduled struct {
	// Pod has its node affinity, its tolerations and its conditions.
	Pod *corev1.Pod
	// Budgets select it, as namespace/name.
	Budgets []string
}

// Node is a Node, and what is known of it.
type Node struct {
	*corev1.Node
	// CordonedFor are the UIDs of the LifecycleEvents that it is cordoned for.
	CordonedFor []types.UID
	// CordonedBefore: a third party had cordoned it before, so it stays cordoned.
	CordonedBefore bool
	// Records are what the Node says of maintenances that are done with it.
	Records []Record
	// Checked: it is known which pods of DaemonSets are not Ready. Decision.Check asks for it.
	Checked bool
	// Unready are the pods of DaemonSets on the node that are not Ready, as namespace/name.
	Unready []string
	// Budgets are the PodDisruptionBudgets of its pods, as namespace/name: of all nodes, or of
	// none. Decision.Budgets asks for them.
	Budgets []string
	// Lease is the node's lease, as it was read last. A holder without an end keeps it until it
	// gives it back.
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
	// Reason is a CamelCase code: of a failure, or of a node that was accepted unhealthy.
	Reason string `json:"reason,omitempty"`
	// Message says the same for people, in at most 256 bytes.
	Message string `json:"message,omitempty"`
	// At is when, to the second.
	At time.Time `json:"at"`
	// Event is the UID of the event that has failed.
	Event types.UID `json:"event,omitempty"`
	// Cordon is the UID of an event for which the node was still cordoned then.
	Cordon types.UID `json:"cordon,omitempty"`
	// Times is how often the node gave way, of a record HeldBack.
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
	// RecordReturned: the node is back, and healthy or accepted as it was.
	RecordReturned RecordState = "Returned"
	// RecordFailed: something has failed. Raising spec.retry lets it be tried again.
	RecordFailed RecordState = "Failed"
	// RecordHeldBack: the drain that it names gives way to others that wait for it. The
	// maintenance continues later.
	RecordHeldBack RecordState = "HeldBack"
)

// Ref is an entry of slipwayv1alpha1.MaintenancesAnnotation on the LifecycleEvents of a
// node: a maintenance that they are for.
type Ref struct {
	UID  types.UID `json:"uid"`
	Name string    `json:"name"`
	// Retry is spec.retry of the maintenance when it took the node up.
	Retry int64 `json:"retry,omitempty"`
	// Since is when it did so, if that was after the creation of the event.
	Since time.Time `json:"since,omitzero"`
	// Begun: its Job was seen. If the Job is gone then, it was deleted.
	Begun bool `json:"begun,omitempty"`
	// Worked is when its work was seen to be done, if hooks hold the node up after it.
	Worked time.Time `json:"worked,omitzero"`
	// Released: no maintenance needs the node any more, and it is on its way back. All entries of
	// the event are released together, and stay so.
	Released bool `json:"released,omitempty"`
}

// RecordsOn returns what a Node says of the maintenances that are done with it. An error says that
// its annotation cannot be read: a third party has written it.
func RecordsOn(node *corev1.Node) (records []Record, err error) {
	text := node.Annotations[slipwayv1alpha1.MaintenancesAnnotation]
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &records); err != nil {
		return nil, fmt.Errorf("read annotation %s of node %s: %w", slipwayv1alpha1.MaintenancesAnnotation, node.Name, err)
	}
	return records, nil
}
