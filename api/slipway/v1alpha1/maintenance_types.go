// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeMaintenance takes nodes out of service and puts them back (KEP-4212): all of them
// together, by stages that somebody moves on; or, with a rollout, some at a time, from
// the drain to the return. Slipway's controller does all of it with LifecycleEvents, one
// for each node in work.
//
// Of several maintenances that select a node, the one that asks for the least decides how
// far its drain goes, and the node returns when none of them needs it out any more.
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

	// spec says which nodes, and what is to be done.
	// +required
	Spec NodeMaintenanceSpec `json:"spec"`

	// status says how far it is. It is written by Slipway's controller.
	// +optional
	Status NodeMaintenanceStatus `json:"status,omitempty"`
}

// NodeMaintenanceSpec says which nodes, and what is to be done.
//
// +kubebuilder:validation:XValidation:rule="has(self.drainPlan) == has(oldSelf.drainPlan)",message="spec.drainPlan is immutable",fieldPath=".drainPlan"
// +kubebuilder:validation:XValidation:rule="has(self.rollout) == has(oldSelf.rollout)",message="spec.rollout can be changed, not added or removed",fieldPath=".rollout"
// +kubebuilder:validation:XValidation:rule="has(self.requestedBy) == has(oldSelf.requestedBy)",message="spec.requestedBy is immutable",fieldPath=".requestedBy"
// +kubebuilder:validation:XValidation:rule="has(self.rollout) || !has(self.work)",message="spec.work needs spec.rollout: without one, the nodes wait for stage Complete",fieldPath=".work"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.allow) || has(self.allow) && oldSelf.allow.all(g, g in self.allow)",message="spec.allow can be added to, not taken from",fieldPath=".allow"
type NodeMaintenanceSpec struct {
	// nodeSelector selects the nodes, also those that come to match it later. A node that
	// does not match any more while it is out is returned.
	// +required
	NodeSelector corev1.NodeSelector `json:"nodeSelector"`

	// stage is how far the maintenance may go: Idle, Cordon, Drain, Complete, in this
	// order. It is never moved back. Without a rollout, all nodes are in that stage at the
	// same time; with one, Drain starts the rollout, and Complete ends it early: nodes that
	// are out return, and no more begin. Unset: Idle.
	// +optional
	// +kubebuilder:default=Idle
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || oldSelf == 'Idle' || self == 'Complete' || oldSelf == 'Cordon' && self == 'Drain'",message="spec.stage goes from Idle to Cordon, Drain and Complete, and never back"
	Stage MaintenanceStage `json:"stage,omitempty"`

	// drainPlan says in which order pods leave, as steps: by podType, then by podPriority,
	// those with a podSelector first. A step begins when the one before is over on all nodes
	// of the maintenance; with a rollout, when it is over on the node itself. Pods of DaemonSets
	// leave only if it names them, and stay away until the node returns (Kubernetes 1.36 or
	// newer; before, their DaemonSets start them again). Static pods leave only if it names them,
	// where slipway-host takes them away. For each podType that it names, and for Default always,
	// the steps up to the highest priorities are added: 1000000000, 2000000000, 2000001000,
	// 2147483647.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.drainPlan is immutable"
	// +kubebuilder:validation:XValidation:rule="self.all(t, has(t.podPriority))",message="spec.drainPlan: each entry needs a podPriority"
	DrainPlan []DrainTarget `json:"drainPlan,omitempty"`

	// drain says how pods leave.
	// +optional
	Drain *MaintenanceDrain `json:"drain,omitempty"`

	// reason is for people: why.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// requestedBy is who asked for it: the name of a user, as the API server knew them.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.requestedBy is immutable"
	RequestedBy string `json:"requestedBy,omitempty"`

	// paused: no node is begun, and none goes on to what comes next for it. A drain that is
	// going on, goes on. Unset: false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// rollout takes some nodes out at a time. Unset: all together.
	// +optional
	Rollout *MaintenanceRollout `json:"rollout,omitempty"`

	// window says when nodes may be taken out. Unset: always.
	// +optional
	Window *MaintenanceWindow `json:"window,omitempty"`

	// hooks hold each node up at moments that others decide about.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Hooks []MaintenanceHook `json:"hooks,omitempty"`

	// work is what is done to each node between its drain and its return. Unset: Manual.
	// Only with a rollout.
	// +optional
	Work *MaintenanceWork `json:"work,omitempty"`

	// retry is raised to have the nodes that have failed tried again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="spec.retry can be raised, not lowered"
	Retry int64 `json:"retry,omitempty"`

	// allow lists what is wanted although it is refused, or held by a guard, otherwise.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	Allow []MaintenanceGuard `json:"allow,omitempty"`
}

// MaintenanceStage is how far a maintenance goes.
//
// +kubebuilder:validation:Enum=Idle;Cordon;Drain;Complete
type MaintenanceStage string

// The stages.
const (
	// StageIdle: nothing is done. The nodes say that a maintenance is planned.
	StageIdle MaintenanceStage = "Idle"
	// StageCordon: the nodes take no new pods.
	StageCordon MaintenanceStage = "Cordon"
	// StageDrain: the nodes are drained.
	StageDrain MaintenanceStage = "Drain"
	// StageComplete: the nodes return. It is the last stage.
	StageComplete MaintenanceStage = "Complete"
)

// MaintenanceGuard is something that is refused unless it is asked for by name.
//
// +kubebuilder:validation:Enum=AllControlPlaneNodes;LastSchedulableNode
type MaintenanceGuard string

// What is refused.
const (
	// GuardAllControlPlaneNodes holds a maintenance without a rollout that selects every node
	// of the control plane: they would all be out at the same time. Who allows it lets the
	// guard SecondControlPlaneNode pass as well, for the events of such a maintenance.
	GuardAllControlPlaneNodes MaintenanceGuard = "AllControlPlaneNodes"
	// GuardLastSchedulableNode holds the node after which pods have none to go to. It is the guard
	// LastSchedulableNode of LifecycleEvents, which is not installed everywhere.
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
