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
	"github.com/slipway-k8s/slipway/internal/node/availability"
	"github.com/slipway-k8s/slipway/nodelease"
)

// Facts are the state of the cluster at the time of a decision. Next does not change them.
type Facts struct {
	// Maintenances are all NodeMaintenances.
	Maintenances []*slipwayv1alpha1.NodeMaintenance
	// Nodes are all Nodes.
	Nodes []Node
	// Events are the LifecycleEvents with the label of maintenances.
	Events []*lifecyclev1alpha1.LifecycleEvent
	// Jobs are the Jobs of maintenances, in JobNamespace.
	Jobs []*batchv1.Job
	// Refused are the messages of the API server or a policy against steps, by [Key]. The controller
	// repeats these steps at growing intervals.
	Refused map[string]string
	// Templates are the PodTemplates of JobNamespace, by name.
	Templates map[string]*corev1.PodTemplate
	// NotReady are the pods of [ReadNotReady], the oldest first.
	NotReady []NotReadyPod
	// JobNamespace is the namespace of Jobs. Empty: the installation permits no Jobs.
	JobNamespace string
	// KeptAway are the pods of DaemonSets that a node keeps away, and that have no node.
	KeptAway []KeptPod
	// KeptAwayUnknown: the watch of these pods has yet to list them.
	KeptAwayUnknown bool
	// Unscheduled are the unschedulable pods with PodDisruptionBudgets, and BudgetStatuses the statuses
	// of these, by namespace/name. Next finds deadlocks only with these facts, which
	// Decision.Starving requests.
	Unscheduled    []Unscheduled
	BudgetStatuses map[string]policyv1.PodDisruptionBudgetStatus
	// Availability are the NodeAvailabilityBudgets.
	Availability []*availability.Budget
	// Leases: Slipway takes the lease of each node that it works on, and respects the leases of other
	// tools.
	Leases bool
}

// Unscheduled is an unschedulable pod.
type Unscheduled struct {
	// Pod has its node affinity, its tolerations and its conditions.
	Pod *corev1.Pod
	// Budgets select it, as namespace/name.
	Budgets []string
}

// Node is a Node with its state.
type Node struct {
	*corev1.Node
	// CordonedFor are the UIDs of the LifecycleEvents that have cordoned it.
	CordonedFor []types.UID
	// CordonedBefore: a third party had cordoned it before, so it stays cordoned.
	CordonedBefore bool
	// Records are the records of maintenances on the Node.
	Records []Record
	// Checked: Unready is known. Decision.Check requests it.
	Checked bool
	// Unready are the pods of DaemonSets on the node that are not Ready, as namespace/name.
	Unready []string
	// Budgets are the PodDisruptionBudgets of its pods, as namespace/name: for all nodes, or for none.
	// Decision.Budgets requests them.
	Budgets []string
	// Lease is the last known state of the node's lease. A lease without an end lasts until its holder
	// releases it.
	Lease nodelease.Held
	// HeldBy names the users that hold the node (NodeHold), for messages; empty: none. The holds of maintenances do
	// not count.
	HeldBy string
	// Frozen is the Freeze for which no work begins on the node, for messages; empty: none.
	Frozen string
}

// Record records on a Node that a maintenance has completed its part there.
type Record struct {
	// UID of the NodeMaintenance.
	UID types.UID `json:"uid"`
	// State of the node.
	State RecordState `json:"state"`
	// Retry is spec.retry of the maintenance at that time.
	Retry int64 `json:"retry,omitempty"`
	// Reason is a CamelCase code: of a failure, or of an unhealthy node that an administrator accepted.
	Reason string `json:"reason,omitempty"`
	// Message explains the reason, in at most 256 bytes.
	Message string `json:"message,omitempty"`
	// At is the time of the record, to the second.
	At time.Time `json:"at"`
	// Event is the UID of the event that has failed.
	Event types.UID `json:"event,omitempty"`
	// Cordon is the UID of an event that had cordoned the node at that time.
	Cordon types.UID `json:"cordon,omitempty"`
	// Times counts, for a record HeldBack, how often the node gave way.
	Times int `json:"times,omitempty"`
	// Behind are the UIDs of the drains that it gave way to, separated by commas.
	Behind string `json:"behind,omitempty"`
}

// RecordState is the result of a maintenance on a node.
type RecordState string

// The states.
const (
	// RecordDone: the work has been done. The node may still be out of service.
	RecordDone RecordState = "Done"
	// RecordReturned: the node has returned, healthy or accepted as unhealthy.
	RecordReturned RecordState = "Returned"
	// RecordFailed: the drain, a hook, the work or the return has failed. Raising spec.retry repeats it.
	RecordFailed RecordState = "Failed"
	// RecordHeldBack: the drain of the record gives way to other drains that wait for it. The
	// maintenance continues later.
	RecordHeldBack RecordState = "HeldBack"
)

// Ref is an entry of slipwayv1alpha1.MaintenancesAnnotation on the LifecycleEvents of a node: a
// maintenance that uses the event.
type Ref struct {
	UID  types.UID `json:"uid"`
	Name string    `json:"name"`
	// Retry is spec.retry of the maintenance when it began with the node.
	Retry int64 `json:"retry,omitempty"`
	// Since is the time at which it joined the event, if that existed already.
	Since time.Time `json:"since,omitzero"`
	// Begun: its Job existed. If the Job is missing then, a third party has deleted it.
	Begun bool `json:"begun,omitempty"`
	// Worked is the end of its work, if hooks hold the node after it.
	Worked time.Time `json:"worked,omitzero"`
	// TakeOver: it takes the node over from users that hold it (spec.heldNodes).
	TakeOver bool `json:"takeOver,omitempty"`
	// Released: no maintenance needs the node any longer, and it returns. All entries of an event are
	// released together, and stay released.
	Released bool `json:"released,omitempty"`
}

// RecordsOn returns the records on a Node. It fails if a third party has made the annotation unreadable.
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

// Decision is the result of [Next].
type Decision struct {
	// Steps are independent of each other: each may succeed or fail by itself.
	Steps []Step
	// Statuses are the changed statuses, by the UID of the maintenance. The controller writes each at most
	// once a second.
	Statuses map[types.UID]slipwayv1alpha1.NodeMaintenanceStatus
	// Check are the names of the nodes whose pods of DaemonSets Next needs.
	Check []string
	// WatchKeptAway: Next needs the pods that nodes keep away.
	WatchKeptAway bool
	// CountPending: Next needs the pods that are Pending or not Ready.
	CountPending bool
	// Budgets: Next needs the PodDisruptionBudgets of the pods of each node.
	Budgets bool
	// Starving: Next needs the unschedulable pods and their PodDisruptionBudgets.
	Starving bool
	// Wake is the time of the next decision if no fact changes before; zero: never.
	Wake time.Time
}

// Step is a write to the API server. The controller may repeat it after a crash, and drops it if the object
// has changed since the decision.
type Step interface {
	// object names the object that the step changes.
	object() string
}

type (
	// CreateEvent creates a LifecycleEvent.
	CreateEvent struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// ChangeEvent writes the parameters, the gates, the allowed guards, the finalizers and the
	// annotations of an event.
	ChangeEvent struct {
		Seen, Changed *lifecyclev1alpha1.LifecycleEvent
	}
	// DeleteEvent cancels an event.
	DeleteEvent struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// CreateJob creates the Job of a node.
	CreateJob struct{ Job *batchv1.Job }
	// DeleteJob deletes it, with its pods.
	DeleteJob struct{ Job *batchv1.Job }
	// RecordOnNode replaces the records of a Node.
	RecordOnNode struct {
		Node    string
		Records []Record
	}
	// MarkNode sets conditions of a Node.
	MarkNode struct {
		Node       string
		Conditions []corev1.NodeCondition
	}
	// KeepAway records on a Node which pods of DaemonSets it keeps away.
	KeepAway struct{ Node, Which string }
	// LetBack removes the record of KeepAway.
	LetBack struct{ Node string }
	// Lift removes Slipway's scheduling gate from a pod.
	Lift struct{ Pod KeptPod }
	// ChangeMaintenance writes the stage and the finalizers of a maintenance.
	ChangeMaintenance struct {
		Seen, Changed *slipwayv1alpha1.NodeMaintenance
	}
	// Tell writes a core Event about a maintenance. If it follows another step, it depends on the success
	// of that step. The first ones of a decision report changes of statuses: until the controller has
	// written these statuses, the next decision repeats them.
	Tell struct {
		About           *slipwayv1alpha1.NodeMaintenance
		Warning         bool
		Reason, Message string
	}
)

// Key identifies a step among the steps of a decision, and stays the same in later decisions. A Tell has
// no key.
func Key(step Step) string { return fmt.Sprintf("%T %s", step, step.object()) }

func (s CreateEvent) object() string       { return s.Event.Name }
func (s ChangeEvent) object() string       { return s.Seen.Name }
func (s DeleteEvent) object() string       { return s.Event.Name }
func (s CreateJob) object() string         { return s.Job.Name }
func (s DeleteJob) object() string         { return s.Job.Name }
func (s RecordOnNode) object() string      { return s.Node }
func (s MarkNode) object() string          { return s.Node }
func (s KeepAway) object() string          { return s.Node }
func (s LetBack) object() string           { return s.Node }
func (s Lift) object() string              { return s.Pod.Namespace + "/" + s.Pod.Name }
func (s ChangeMaintenance) object() string { return s.Seen.Name }
func (Tell) object() string                { return "" }
