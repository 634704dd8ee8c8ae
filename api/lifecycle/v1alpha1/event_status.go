// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClaimStatus is the phase of an event.
//
// +kubebuilder:validation:Enum=Pending;Claimed;Failed;SlaExpired;Succeeded
type ClaimStatus string

// The phases of an event: Pending, then Claimed, then one of the three terminal phases. A Pending
// event that can never be claimed moves to Failed at once.
const (
	// Pending means that the event is not claimed. The Claimable condition has the reason.
	Pending ClaimStatus = "Pending"
	// Claimed means that a claimer drives the event.
	Claimed ClaimStatus = "Claimed"
	// Failed is terminal: the driver failed, or the event was canceled.
	Failed ClaimStatus = "Failed"
	// SlaExpired is terminal: the deadline passed before the end was reached.
	SlaExpired ClaimStatus = "SlaExpired"
	// Succeeded is terminal: the end state was reached.
	Succeeded ClaimStatus = "Succeeded"
)

// Terminal reports whether the phase is terminal.
func (s ClaimStatus) Terminal() bool {
	return s == Failed || s == SlaExpired || s == Succeeded
}

// LifecycleEventStatus reports the progress of an event. It is the only record of the work for
// the event.
//
// +kubebuilder:validation:XValidation:rule="self.claimStatus == oldSelf.claimStatus || oldSelf.claimStatus == 'Pending' && self.claimStatus in ['Claimed', 'Failed'] || oldSelf.claimStatus == 'Claimed' && self.claimStatus in ['Succeeded', 'Failed', 'SlaExpired']",message="status.claimStatus goes from Pending to Claimed or Failed, from Claimed to Succeeded, Failed or SlaExpired, and nowhere else",fieldPath=".claimStatus"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.claimedBy) || has(self.claimedBy) && self.claimedBy == oldSelf.claimedBy",message="status.claimedBy is immutable once set",fieldPath=".claimedBy"
type LifecycleEventStatus struct {
	// claimStatus is the phase.
	// +optional
	// +default="Pending"
	// +kubebuilder:default=Pending
	ClaimStatus ClaimStatus `json:"claimStatus,omitempty"`

	// sla is the deadline: the time of the claim plus the sla, rounded up to a second. At the
	// deadline the event ends as SlaExpired. Unset: no deadline.
	// +optional
	SLA *metav1.Time `json:"sla,omitempty"`

	// driver is a copy of the transition's fields, made at the claim: later changes of the
	// transition do not affect the event.
	// +optional
	Driver *ClaimedDriver `json:"driver,omitempty"`

	// state is the last state that the driver has reported: empty (not started), driver.start or
	// driver.end. An addition of Slipway.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	State string `json:"state,omitempty"`

	// claimedBy identifies the claimer of the event, which alone drives it. An addition of
	// Slipway.
	// +optional
	ClaimedBy *Claimer `json:"claimedBy,omitempty"`

	// progress is the progress of the driver. An addition of Slipway.
	// +optional
	Progress *Progress `json:"progress,omitempty"`

	// blockers lists the current obstacles of the driver, at most 20 entries. An addition of
	// Slipway.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Blockers []Blocker `json:"blockers,omitempty"`

	// blockersTotal counts all blockers. An addition of Slipway.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BlockersTotal int32 `json:"blockersTotal,omitempty"`

	// leftToResponders lists the pods that the driver leaves to their responders (KEP-4563)
	// instead of evicting them. The controller requests their evictions with EvictionRequests,
	// which no agent may create. Sorted by namespace and name, without deleted pods. An addition
	// of Slipway.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	LeftToResponders []PodReference `json:"leftToResponders,omitempty"`

	// conditions are Claimable, DriverAvailable, Stalled, GuardsPassed, Finished, and the
	// conditions of the driver. An addition of Slipway.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec whose parameters the driver has received
	// last. An addition of Slipway.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ClaimedDriver is the part of a transition that determines how an event is driven.
type ClaimedDriver struct {
	// name of the driver.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// start is the name of the state that begins with the transition.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Start string `json:"start,omitempty"`
	// end is the name of the target state.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	End string `json:"end,omitempty"`
}

// ClaimerKind is the kind of process that claims events. A third-party controller chooses another
// kind.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
type ClaimerKind string

// The kinds of Slipway's claimers.
const (
	// NodeAgent is the agent on the event's node.
	NodeAgent ClaimerKind = "NodeAgent"
	// Controller is the cluster's controller, for drivers that are registered with it.
	Controller ClaimerKind = "Controller"
)

// Claimer identifies the process that claimed an event.
type Claimer struct {
	// kind of process.
	// +required
	Kind ClaimerKind `json:"kind"`
	// identity is the name of the node for an agent, and the name of the leader election for the
	// controller. The successor of a dead claimer has the same identity.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Identity string `json:"identity"`
}

// Progress counts a driver's units of work: for a drain, pods.
type Progress struct {
	// total number of units.
	// +optional
	Total int32 `json:"total"`
	// done is the number of completed units.
	// +optional
	Done int32 `json:"done"`
	// summary for users, such as "12/30".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Summary string `json:"summary,omitempty"`
}

// PodReference identifies one pod by its UID.
type PodReference struct {
	// namespace of the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`

	// name of the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// uid of the pod.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	UID types.UID `json:"uid"`
}

// Blocker is one obstacle of a driver.
type Blocker struct {
	// object that is blocked, as kind and namespace/name: "Pod shop/cart-0".
	// +required
	// +kubebuilder:validation:MaxLength=600
	Object string `json:"object"`
	// reason is a CamelCase code.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason"`
	// by is the obstacle, as kind and namespace/name: "PodDisruptionBudget shop/cart".
	// +optional
	// +kubebuilder:validation:MaxLength=600
	By string `json:"by,omitempty"`
	// message for users: the cause and the remedy.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// since is the time when the obstacle appeared.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
