// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeHold records that an actor has a node out of service: a user, or a NodeMaintenance. A node may
// have several holds. It returns to service when the last one is released.
//
// Slipway's controller creates a hold before a LifecycleEvent may take the node out of service, and
// deletes it when the actor returns the node, or when the event is canceled. A hold outlives its
// event. Its holder can hand it over to another user or actor ('kubectl slipway hold transfer'); after
// spec.until, each user with the verb update can. The start of a hold is its creationTimestamp. Its owner is the Node or, for a maintenance,
// the NodeMaintenance: the deletion of the owner releases the hold.
//
// To release a hold without its actor, run 'kubectl slipway uncordon NODE --release-all', or delete
// the object.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=nh
// +kubebuilder:selectablefield:JSONPath=`.spec.nodeName`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.spec.nodeName`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.user`
// +kubebuilder:printcolumn:name="Actor",type=string,JSONPath=`.spec.actor`,priority=1
// +kubebuilder:printcolumn:name="Maintenance",type=string,JSONPath=`.spec.maintenance`
// +kubebuilder:printcolumn:name="Purpose",type=string,JSONPath=`.spec.purpose`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.spec.until`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeHold struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names the node, the actor and the purpose.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.nodeName == oldSelf.nodeName && self.eventName == oldSelf.eventName && self.eventUID == oldSelf.eventUID && (has(self.maintenance) ? self.maintenance : \"\") == (has(oldSelf.maintenance) ? oldSelf.maintenance : \"\")",message="spec: a handover changes only user, actor, purpose, until and transfer"
	Spec NodeHoldSpec `json:"spec"`
}

// OverdueLabel is on a NodeHold after its spec.until. Slipway's controller writes it: admission does not know the time, and
// allows a handover without the holder by this label.
const OverdueLabel = "slipway.dev/overdue"

// NodeHoldSpec names the node, the actor and the purpose of a hold.
type NodeHoldSpec struct {
	// nodeName is the name of the node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName"`

	// eventName is the name of the LifecycleEvent that took the node out of service. It may no longer
	// exist.
	// +required
	// +kubebuilder:validation:MaxLength=253
	EventName string `json:"eventName"`
	// eventUID is the UID of that event.
	// +required
	EventUID types.UID `json:"eventUID"`

	// user is the authenticated user that requested the event. Empty: unknown (before Kubernetes 1.36).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	User string `json:"user,omitempty"`

	// actor is spec.actor of the event: it distinguishes the actors that share a user.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Actor string `json:"actor,omitempty"`

	// maintenance is the name of the NodeMaintenance that has the node out of service. Empty: the event
	// belongs to no maintenance.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Maintenance string `json:"maintenance,omitempty"`

	// purpose is spec.reason of the event.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Purpose string `json:"purpose,omitempty"`

	// until is spec.until of the event: the time by which the actor expects to return the node. At that time
	// nothing releases the hold.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// transfer records the last handover of the hold to another user or actor. An admission policy checks it.
	// +optional
	Transfer *HoldTransfer `json:"transfer,omitempty"`
}

// HoldTransfer is a handover of a hold.
type HoldTransfer struct {
	// by is the user that handed the hold over: its holder, or another user after spec.until.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by"`

	// fromUser is the user that held the node before.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FromUser string `json:"fromUser,omitempty"`

	// fromActor is the actor that held the node before.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	FromActor string `json:"fromActor,omitempty"`
}

// NodeHoldList is a list of NodeHolds.
//
// +kubebuilder:object:root=true
type NodeHoldList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeHold `json:"items"`
}
