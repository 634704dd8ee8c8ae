// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeMaintenance takes nodes out of service and returns them (KEP-4212). Without a rollout, all
// nodes proceed together, by stages that an administrator sets. With a rollout, a limited number
// of nodes proceeds at a time, from the drain to the return. Slipway's controller implements this
// with LifecycleEvents, one for each node in work.
//
// If several maintenances select a node, the least advanced one limits its drain. The node
// returns when no maintenance needs it any longer.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=nm
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.spec.stage`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="Out",type=integer,JSONPath=`.status.nodes.out`
// +kubebuilder:printcolumn:name="Done",type=integer,JSONPath=`.status.nodes.returned`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeMaintenance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec selects the nodes, and defines the work.
	// +required
	Spec NodeMaintenanceSpec `json:"spec"`

	// status reports the progress. Slipway's controller writes it.
	// +optional
	Status NodeMaintenanceStatus `json:"status,omitempty"`
}

// NodeMaintenanceSpec selects the nodes, and defines the work.
//
// +kubebuilder:validation:XValidation:rule="has(self.drainPlan) == has(oldSelf.drainPlan)",message="spec.drainPlan is immutable",fieldPath=".drainPlan"
// +kubebuilder:validation:XValidation:rule="has(self.rollout) == has(oldSelf.rollout)",message="spec.rollout can be changed, not added or removed",fieldPath=".rollout"
// +kubebuilder:validation:XValidation:rule="has(self.requestedBy) == has(oldSelf.requestedBy)",message="spec.requestedBy is immutable",fieldPath=".requestedBy"
// +kubebuilder:validation:XValidation:rule="has(self.rollout) || !has(self.work)",message="spec.work needs spec.rollout: without a rollout, the nodes wait for stage Complete",fieldPath=".work"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.allow) || has(self.allow) && oldSelf.allow.all(g, g in self.allow)",message="spec.allow can be added to, not taken from",fieldPath=".allow"
type NodeMaintenanceSpec struct {
	// nodeSelector selects the nodes, including nodes that match it later. A node that no longer
	// matches while it is out of service returns.
	// +required
	NodeSelector corev1.NodeSelector `json:"nodeSelector"`

	// stage is the permitted extent of the maintenance: Idle, Cordon, Drain, Complete, in this
	// order. It never moves back. Without a rollout, all nodes are in that stage at the same
	// time. With a rollout, Drain starts the rollout, and Complete ends it early: nodes that are
	// out of service return, and no other nodes start. Unset: Idle.
	// +optional
	// +kubebuilder:default=Idle
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || oldSelf == 'Idle' || self == 'Complete' || oldSelf == 'Cordon' && self == 'Drain'",message="spec.stage goes from Idle to Cordon, Drain and Complete, and never back"
	Stage MaintenanceStage `json:"stage,omitempty"`

	// drainPlan defines the order in which pods leave, as steps: by podType, then by podPriority,
	// entries with a podSelector first. A step begins after the previous step has ended on all
	// nodes of the maintenance; with a rollout, after it has ended on the node itself. DaemonSet
	// pods leave only if the plan names them, and stay away until the node returns (Kubernetes
	// 1.36 or newer; before, their DaemonSets start them again). Static pods leave only if the
	// plan names them, and slipway-host removes them. For each podType in the plan, and always
	// for Default, the controller adds the steps up to the highest priorities: 1000000000,
	// 2000000000, 2000001000, 2147483647.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.drainPlan is immutable"
	// +kubebuilder:validation:XValidation:rule="self.all(t, has(t.podPriority))",message="spec.drainPlan: each entry needs a podPriority"
	DrainPlan []DrainTarget `json:"drainPlan,omitempty"`

	// drain defines how pods leave.
	// +optional
	Drain *MaintenanceDrain `json:"drain,omitempty"`

	// reason explains the maintenance to users.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// requestedBy is the name of the user that created the maintenance, as authenticated by the
	// API server.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.requestedBy is immutable"
	RequestedBy string `json:"requestedBy,omitempty"`

	// paused stops the start of nodes, and of the next step of each node. Drains in progress
	// continue. Unset: false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// rollout takes a limited number of nodes out of service at a time. Unset: all together.
	// +optional
	Rollout *MaintenanceRollout `json:"rollout,omitempty"`

	// window defines when nodes may be taken out of service. Unset: always.
	// +optional
	Window *MaintenanceWindow `json:"window,omitempty"`

	// hooks let other programs or users delay each node at defined points.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Hooks []MaintenanceHook `json:"hooks,omitempty"`

	// work is the work on each node between its drain and its return. Unset: Manual. Only with a
	// rollout.
	// +optional
	Work *MaintenanceWork `json:"work,omitempty"`

	// heldNodes defines what the maintenance does with nodes that users hold (NodeHold): it takes the other nodes first,
	// and then waits until the holders return them, or takes them over. Unset: Wait.
	// +optional
	HeldNodes HeldNodes `json:"heldNodes,omitempty"`

	// retry is a counter: raise it to retry the failed nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="spec.retry can be raised, not lowered"
	Retry int64 `json:"retry,omitempty"`

	// allow lists guards to disable: the controller otherwise rejects the maintenance, or holds
	// its nodes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	Allow []MaintenanceGuard `json:"allow,omitempty"`
}

// HeldNodes defines how a maintenance treats nodes that users hold.
//
// +kubebuilder:validation:Enum=Wait;TakeOver
type HeldNodes string

// The values of HeldNodes.
const (
	// HeldNodesWait waits until the holders return the nodes.
	HeldNodesWait HeldNodes = "Wait"
	// HeldNodesTakeOver releases the holds of users whose drains have ended, when the guards let the node pass. A core Event
	// HoldReleased on the Node informs the holders. It requires the verb release-holds on lifecycleevents.
	HeldNodesTakeOver HeldNodes = "TakeOver"
)

// MaintenanceStage is the extent of a maintenance.
//
// +kubebuilder:validation:Enum=Idle;Cordon;Drain;Complete
type MaintenanceStage string

// The stages.
const (
	// StageIdle changes nothing. The Nodes report a planned maintenance.
	StageIdle MaintenanceStage = "Idle"
	// StageCordon makes the nodes unschedulable.
	StageCordon MaintenanceStage = "Cordon"
	// StageDrain drains the nodes.
	StageDrain MaintenanceStage = "Drain"
	// StageComplete returns the nodes. It is the last stage.
	StageComplete MaintenanceStage = "Complete"
)

// MaintenanceGuard is a case that the controller rejects or holds unless spec.allow lists it.
//
// +kubebuilder:validation:Enum=AllControlPlaneNodes;LastSchedulableNode
type MaintenanceGuard string

// The guards.
const (
	// GuardAllControlPlaneNodes rejects a maintenance without a rollout that selects every
	// control plane node: all of them would be out of service at the same time. If spec.allow
	// lists it, the guard SecondControlPlaneNode also lets the events of such a maintenance pass.
	GuardAllControlPlaneNodes MaintenanceGuard = "AllControlPlaneNodes"
	// GuardLastSchedulableNode holds the last schedulable node. It is the guard
	// LastSchedulableNode of LifecycleEvents, which is an optional installation.
	GuardLastSchedulableNode MaintenanceGuard = "LastSchedulableNode"
)

// NodeMaintenanceList is a list of NodeMaintenances.
//
// +kubebuilder:object:root=true
type NodeMaintenanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeMaintenance `json:"items"`
}
