// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeMaintenanceStatus reports the progress of a maintenance. Its size is bounded: it counts all
// nodes, and lists nodes that need attention or are out of service.
type NodeMaintenanceStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// message for users: the current activity, or the reason for waiting.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// stageStatuses lists the stages that have begun, in the order of their beginning.
	// +optional
	// +listType=map
	// +listMapKey=name
	StageStatuses []MaintenanceStageStatus `json:"stageStatuses,omitempty"`

	// drainStatus reports the progress of the drain plan.
	// +optional
	DrainStatus *MaintenanceDrainStatus `json:"drainStatus,omitempty"`

	// nodes counts the selected nodes.
	// +optional
	Nodes MaintenanceNodeCounts `json:"nodes,omitempty"`

	// nodeStatuses lists the nodes that have failed, are held or are out of service, at most 100.
	// Nodes that need attention come first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodeStatuses []MaintenanceNodeStatus `json:"nodeStatuses,omitempty"`

	// conditions are Accepted, Progressing, Drained, Completed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MaintenanceStageStatus is a stage that has begun.
type MaintenanceStageStatus struct {
	// name of the stage.
	// +required
	Name MaintenanceStage `json:"name"`
	// startTimestamp is the time of its beginning.
	// +required
	StartTimestamp metav1.Time `json:"startTimestamp"`
}

// MaintenanceDrainStatus reports the progress of the drain plan (KEP-4212).
type MaintenanceDrainStatus struct {
	// reachedDrainTargets are the lowest targets among the nodes that are out of service, at most
	// one for each podType and podSelector.
	// +optional
	// +listType=atomic
	ReachedDrainTargets []DrainTarget `json:"reachedDrainTargets,omitempty"`
	// podsPending is the number of pods that must still leave the nodes that are out of service.
	// +optional
	PodsPending int32 `json:"podsPending"`
	// drainMessage names the other maintenances that limit this one.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DrainMessage string `json:"drainMessage,omitempty"`
}

// MaintenanceNodeCounts counts the selected nodes.
type MaintenanceNodeCounts struct {
	// selected is the number of selected nodes.
	// +optional
	Selected int32 `json:"selected"`
	// waiting is the number of nodes that have not started.
	// +optional
	Waiting int32 `json:"waiting"`
	// out is the number of nodes that are out of service, in any phase: from their start, which
	// is before their cordon, until their return.
	// +optional
	Out int32 `json:"out"`
	// drained is the number of drained nodes among the nodes that are out of service.
	// +optional
	Drained int32 `json:"drained"`
	// returned is the number of completed nodes.
	// +optional
	Returned int32 `json:"returned"`
	// failed is the number of nodes that need attention.
	// +optional
	Failed int32 `json:"failed"`
}

// MaintenanceNodeStatus reports the progress of one node.
type MaintenanceNodeStatus struct {
	// name of the node.
	// +required
	Name string `json:"name"`
	// phase of the node.
	// +required
	Phase MaintenanceNodePhase `json:"phase"`
	// reason is a CamelCase code for the obstacle of the node, or for its failure.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`
	// podsEvacuating is the number of pods of its drain that have yet to leave the node. reason and
	// message report what limits them. Unset: 0.
	// +optional
	PodsEvacuating int32 `json:"podsEvacuating,omitempty"`
	// message for users.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// since is the time when the node entered this phase, as far as the objects record it.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// MaintenanceNodePhase is the position of a node in its maintenance.
//
// +kubebuilder:validation:Enum=Waiting;Held;Draining;Drained;Working;Returning;Unhealthy;Returned;Failed
type MaintenanceNodePhase string

// The phases.
const (
	// NodeWaiting means that the node has not started.
	NodeWaiting MaintenanceNodePhase = "Waiting"
	// NodeHeld means that the node's event exists, and a hook, a guard or a lease holds it back.
	// It also means that the node should start, but the API server rejects its event.
	NodeHeld MaintenanceNodePhase = "Held"
	// NodeDraining means that the node is cordoned, and its pods leave.
	NodeDraining MaintenanceNodePhase = "Draining"
	// NodeDrained means that all pods of the drain plan have left.
	NodeDrained MaintenanceNodePhase = "Drained"
	// NodeWorking means that the work is in progress, or that the maintenance waits for it.
	NodeWorking MaintenanceNodePhase = "Working"
	// NodeReturning means that the node is returning to service.
	NodeReturning MaintenanceNodePhase = "Returning"
	// NodeUnhealthy means that the node has returned, but is not healthy yet.
	NodeUnhealthy MaintenanceNodePhase = "Unhealthy"
	// NodeReturned means that the maintenance of the node is complete.
	NodeReturned MaintenanceNodePhase = "Returned"
	// NodeFailed means that the node needs attention.
	NodeFailed MaintenanceNodePhase = "Failed"
)

// Conditions of a NodeMaintenance.
const (
	// MaintenanceAccepted is False when the controller rejects the spec and does not act on it.
	MaintenanceAccepted = "Accepted"
	// MaintenanceProgressing is False when the maintenance makes no progress. Its reason is the
	// cause.
	MaintenanceProgressing = "Progressing"
	// MaintenanceDrained is True when all pods of the drain plan have left the nodes; terminating
	// pods count as present (KEP-4212).
	MaintenanceDrained = "Drained"
	// MaintenanceCompleted is True when all nodes have returned.
	MaintenanceCompleted = "Completed"
)

// Reasons of these conditions, and of nodes that are held or have failed.
const (
	ReasonAccepted             = "Accepted"
	ReasonAllControlPlaneNodes = "AllControlPlaneNodes"
	ReasonInvalidSelector      = "InvalidSelector"
	ReasonIdle                 = "Idle"
	ReasonRunning              = "Running"
	ReasonPaused               = "Paused"
	ReasonPauseAfter           = "PauseAfter"
	ReasonBeforeWindow         = "BeforeWindow"
	ReasonWindowOver           = "WindowOver"
	ReasonFailureThreshold     = "FailureThreshold"
	ReasonPendingPods          = "PendingPods"
	ReasonMaxUnavailable       = "MaxUnavailable"
	ReasonWaitingForOthers     = "WaitingForOthers"
	ReasonCompleted            = "Completed"
	ReasonIncomplete           = "Incomplete"
	ReasonDrained              = "Drained"
	ReasonDraining             = "Draining"
	ReasonNoNodes              = "NoNodes"

	ReasonHookWaiting       = "HookWaiting"
	ReasonHookTimeout       = "HookTimeout"
	ReasonGated             = "Gated"
	ReasonBlocked           = "Blocked"
	ReasonDeadlock          = "Deadlock"
	ReasonDeadlockHeldBack  = "DeadlockHeldBack"
	ReasonWaitingForWork    = "WaitingForWork"
	ReasonJobRunning        = "JobRunning"
	ReasonJobFailed         = "JobFailed"
	ReasonJobInvalid        = "JobInvalid"
	ReasonJobRefused        = "JobRefused"
	ReasonStepRefused       = "StepRefused"
	ReasonWorkTimeout       = "WorkTimeout"
	ReasonDrainFailed       = "DrainFailed"
	ReasonDrainTimeout      = "DrainTimeout"
	ReasonDrainCanceled     = "DrainCanceled"
	ReasonReturnFailed      = "ReturnFailed"
	ReasonNodeNotReady      = "NodeNotReady"
	ReasonNodeCordoned      = "NodeCordoned"
	ReasonDaemonSetsUnready = "DaemonSetPodsNotReady"
)

// Names that a maintenance uses on other objects.
const (
	// MaintenanceFinalizer keeps a NodeMaintenance until its nodes have returned (KEP-4212).
	MaintenanceFinalizer = "nodemaintenance.k8s.io/maintenance-completion"
	// MaintenanceEventFinalizer keeps a LifecycleEvent of a maintenance until the controller has
	// recorded its outcome.
	MaintenanceEventFinalizer = "slipway.dev/maintenance"
	// MaintenanceEventLabel is on the LifecycleEvents and Jobs of maintenances; its value is
	// drain, return or work.
	MaintenanceEventLabel = "slipway.dev/maintenance"
	// MaintenanceGate holds the drain of a node back until its hooks are open.
	MaintenanceGate = "slipway.dev/maintenance"
	// MaintenancesAnnotation on a LifecycleEvent lists its maintenances; on a Node, it lists the
	// maintenances that have completed the node.
	MaintenancesAnnotation = "slipway.dev/maintenances"
	// HookAnnotationPrefix and the name of a hook form an annotation of the LifecycleEvent of a
	// node's drain; its value is Open or Hold.
	HookAnnotationPrefix = "hook.slipway.dev/"
	// HookOpen and HookHold are its values.
	HookOpen = "Open"
	HookHold = "Hold"
	// WorkDoneAnnotation on the LifecycleEvent of a node's drain records that the work of type
	// Manual is complete, and the user that reported this.
	WorkDoneAnnotation = "slipway.dev/work-done"
	// UnhealthyAcceptedAnnotation on the LifecycleEvent of a node's return makes the node count
	// as returned although it is not healthy, and records the user that accepted this.
	UnhealthyAcceptedAnnotation = "slipway.dev/unhealthy-accepted"
	// KeptAway is a label on Nodes that keep DaemonSet pods away, with the value
	// [KeptAwayDaemonSets], and an annotation of these Nodes that lists the DaemonSets. It is
	// also a label on pods that were created for such a Node, with the value "true".
	KeptAway           = "slipway.dev/kept-away"
	KeptAwayDaemonSets = "daemonsets"
	// KeptAwayGate is the scheduling gate of such pods.
	KeptAwayGate = "slipway.dev/maintenance"
	// WorkNodeLabel on a Job names its node.
	WorkNodeLabel = "slipway.dev/node"
)
