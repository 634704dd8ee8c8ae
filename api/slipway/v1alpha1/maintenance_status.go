// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeMaintenanceStatus says how far a maintenance is. It is bounded: all nodes are
// counted, and those that need attention, or are out, are listed.
type NodeMaintenanceStatus struct {
	// observedGeneration is the generation of the spec that this speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// message for people: what is going on, or what it waits for.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// stageStatuses lists the stages that have begun, in the order in which they did.
	// +optional
	// +listType=map
	// +listMapKey=name
	StageStatuses []MaintenanceStageStatus `json:"stageStatuses,omitempty"`

	// drainStatus says how far the drain plan is.
	// +optional
	DrainStatus *MaintenanceDrainStatus `json:"drainStatus,omitempty"`

	// nodes counts the selected nodes.
	// +optional
	Nodes MaintenanceNodeCounts `json:"nodes,omitempty"`

	// nodeStatuses are the nodes that have failed, are held up or are out, at most 100, those
	// that need attention first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodeStatuses []MaintenanceNodeStatus `json:"nodeStatuses,omitempty"`

	// conditions: Accepted, Progressing, Drained, Completed.
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
	// startTimestamp is when it began.
	// +required
	StartTimestamp metav1.Time `json:"startTimestamp"`
}

// MaintenanceDrainStatus says how far the drain plan is (KEP-4212).
type MaintenanceDrainStatus struct {
	// reachedDrainTargets are the lowest targets among the nodes that are out, at most one for
	// each podType and podSelector.
	// +optional
	// +listType=atomic
	ReachedDrainTargets []DrainTarget `json:"reachedDrainTargets,omitempty"`
	// podsPending is how many pods are still to leave the nodes that are out.
	// +optional
	PodsPending int32 `json:"podsPending"`
	// drainMessage says which other maintenances limit this one.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DrainMessage string `json:"drainMessage,omitempty"`
}

// MaintenanceNodeCounts counts the selected nodes.
type MaintenanceNodeCounts struct {
	// selected is how many there are.
	// +optional
	Selected int32 `json:"selected"`
	// waiting have not begun.
	// +optional
	Waiting int32 `json:"waiting"`
	// out is how many are between their turn, which begins before their cordon, and their
	// return, in whichever phase.
	// +optional
	Out int32 `json:"out"`
	// drained are those of them that are drained.
	// +optional
	Drained int32 `json:"drained"`
	// returned are done with.
	// +optional
	Returned int32 `json:"returned"`
	// failed need somebody.
	// +optional
	Failed int32 `json:"failed"`
}

// MaintenanceNodeStatus is how one node is.
type MaintenanceNodeStatus struct {
	// name of the node.
	// +required
	Name string `json:"name"`
	// phase of the node.
	// +required
	Phase MaintenanceNodePhase `json:"phase"`
	// reason is a CamelCase code of what holds the node up, or why it has failed.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`
	// message for people.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// since when the node is in this phase, as far as the objects show it.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// MaintenanceNodePhase is where a node is on its way.
//
// +kubebuilder:validation:Enum=Waiting;Held;Draining;Drained;Working;Returning;Unhealthy;Returned;Failed
type MaintenanceNodePhase string

// The phases.
const (
	// NodeWaiting: it has not begun.
	NodeWaiting MaintenanceNodePhase = "Waiting"
	// NodeHeld: its event is there, and something holds it back: a hook, a guard, a lease. Or it
	// is its turn, and the event is refused.
	NodeHeld MaintenanceNodePhase = "Held"
	// NodeDraining: it is cordoned, and its pods leave.
	NodeDraining MaintenanceNodePhase = "Draining"
	// NodeDrained: nothing is left of what the plan is to move.
	NodeDrained MaintenanceNodePhase = "Drained"
	// NodeWorking: the work is going on, or waited for.
	NodeWorking MaintenanceNodePhase = "Working"
	// NodeReturning: it is being put back.
	NodeReturning MaintenanceNodePhase = "Returning"
	// NodeUnhealthy: it is back, and not healthy yet.
	NodeUnhealthy MaintenanceNodePhase = "Unhealthy"
	// NodeReturned: it is done with.
	NodeReturned MaintenanceNodePhase = "Returned"
	// NodeFailed: it needs somebody.
	NodeFailed MaintenanceNodePhase = "Failed"
)

// Conditions of a NodeMaintenance.
const (
	// MaintenanceAccepted is False when nothing is done because the spec asks for what is
	// refused.
	MaintenanceAccepted = "Accepted"
	// MaintenanceProgressing is False when nothing moves, and says why.
	MaintenanceProgressing = "Progressing"
	// MaintenanceDrained is True when no pod is left on the nodes that the drain plan is to
	// move; pods that are terminating count (KEP-4212).
	MaintenanceDrained = "Drained"
	// MaintenanceCompleted is True when no node needs anything any more.
	MaintenanceCompleted = "Completed"
)

// Reasons of these conditions, and of nodes that are held up or have failed.
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

// What a maintenance writes elsewhere.
const (
	// MaintenanceFinalizer keeps a NodeMaintenance until its nodes have returned (KEP-4212).
	MaintenanceFinalizer = "nodemaintenance.k8s.io/maintenance-completion"
	// MaintenanceEventFinalizer keeps a LifecycleEvent of a maintenance until its outcome is
	// known.
	MaintenanceEventFinalizer = "slipway.dev/maintenance"
	// MaintenanceEventLabel is on the LifecycleEvents and Jobs of maintenances; its value is
	// drain, return or work.
	MaintenanceEventLabel = "slipway.dev/maintenance"
	// MaintenanceGate holds the drain of a node back until its hooks are open.
	MaintenanceGate = "slipway.dev/maintenance"
	// MaintenancesAnnotation on a LifecycleEvent lists the maintenances that it is for; on a
	// Node, those that are done with it.
	MaintenancesAnnotation = "slipway.dev/maintenances"
	// HookAnnotationPrefix and the name of a hook are an annotation of the LifecycleEvent of a
	// node's drain; its value is Open or Hold.
	HookAnnotationPrefix = "hook.slipway.dev/"
	// HookOpen and HookHold are its values.
	HookOpen = "Open"
	HookHold = "Hold"
	// WorkDoneAnnotation on the LifecycleEvent of a node's drain says that the work of type
	// Manual is done, and by whom.
	WorkDoneAnnotation = "slipway.dev/work-done"
	// UnhealthyAcceptedAnnotation on the LifecycleEvent of a node's return says that the node
	// counts as back although it is not healthy, and who said so.
	UnhealthyAcceptedAnnotation = "slipway.dev/unhealthy-accepted"
	// KeptAway is a label on Nodes that keep pods of DaemonSets away, with the value
	// [KeptAwayDaemonSets], and their annotation that says which; and a label on pods that were
	// created for such a Node, with the value "true".
	KeptAway           = "slipway.dev/kept-away"
	KeptAwayDaemonSets = "daemonsets"
	// KeptAwayGate is the scheduling gate of such pods.
	KeptAwayGate = "slipway.dev/maintenance"
	// WorkNodeLabel on a Job says for which node it is.
	WorkNodeLabel = "slipway.dev/node"
)
