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

// The phases of an event: Pending, then Claimed, then one of the three terminal
// ones. A Pending event that can never be claimed goes to Failed at once.
const (
	// Pending: not claimed. The Claimable condition says what it waits for.
	Pending ClaimStatus = "Pending"
	// Claimed: a claimer drives it.
	Claimed ClaimStatus = "Claimed"
	// Failed is terminal: the driver failed, or the event was canceled.
	Failed ClaimStatus = "Failed"
	// SlaExpired is terminal: the deadline passed before the end was reached.
	SlaExpired ClaimStatus = "SlaExpired"
	// Succeeded is terminal: the end state was reached.
	Succeeded ClaimStatus = "Succeeded"
)

// Terminal says whether the phase is a last one.
func (s ClaimStatus) Terminal() bool {
	return s == Failed || s == SlaExpired || s == Succeeded
}

// LifecycleEventStatus says how far an event is. All that has been done for an
// event is recorded here, bound to this event, and nowhere else.
//
// +kubebuilder:validation:XValidation:rule="self.claimStatus == oldSelf.claimStatus || oldSelf.claimStatus == 'Pending' && self.claimStatus in ['Claimed', 'Failed'] || oldSelf.claimStatus == 'Claimed' && self.claimStatus in ['Succeeded', 'Failed', 'SlaExpired']",message="status.claimStatus goes from Pending to Claimed or Failed, from Claimed to Succeeded, Failed or SlaExpired, and nowhere else",fieldPath=".claimStatus"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.claimedBy) || has(self.claimedBy) && self.claimedBy == oldSelf.claimedBy",message="status.claimedBy is immutable once set",fieldPath=".claimedBy"
type LifecycleEventStatus struct {
	// claimStatus is the phase.
	// +optional
	// +default="Pending"
	// +kubebuilder:default=Pending
	ClaimStatus ClaimStatus `json:"claimStatus,omitempty"`

	// sla is the deadline: the time of the claim plus the sla, rounded up to a
	// second. At it the event ends as SlaExpired. Unset: none.
	// +optional
	SLA *metav1.Time `json:"sla,omitempty"`

	// driver is a copy, made at the claim, of what the transition said: later changes
	// to the transition do not disturb the event.
	// +optional
	Driver *ClaimedDriver `json:"driver,omitempty"`

	// state is the state that the driver has reported last: empty (not started),
	// driver.start or driver.end. An addition of Slipway.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	State string `json:"state,omitempty"`

	// claimedBy is who claimed the event. Nobody else drives it. An addition of
	// Slipway.
	// +optional
	ClaimedBy *Claimer `json:"claimedBy,omitempty"`

	// progress is how far the driver is. An addition of Slipway.
	// +optional
	Progress *Progress `json:"progress,omitempty"`

	// blockers is what holds the driver up now, at most 20 entries. An addition of
	// Slipway.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Blockers []Blocker `json:"blockers,omitempty"`

	// blockersTotal counts all blockers. An addition of Slipway.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BlockersTotal int32 `json:"blockersTotal,omitempty"`

	// leftToResponders are the pods that the driver leaves to their responders
	// (KEP-4563) instead of evicting them: the controller asks for their evictions with
	// EvictionRequests, which no agent may create. Sorted by namespace and name, without
	// those that are gone. An addition of Slipway.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	LeftToResponders []PodReference `json:"leftToResponders,omitempty"`

	// conditions: Claimable, DriverAvailable, Stalled, GuardsPassed, Finished, and those
	// of the driver. An addition of Slipway.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec whose parameters the driver
	// was given last. An addition of Slipway.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ClaimedDriver is the part of a transition that an event is driven by.
type ClaimedDriver struct {
	// name of the driver.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// start is the name of the state that begins with the transition.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Start string `json:"start,omitempty"`
	// end is the name of the state that is to be reached.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	End string `json:"end,omitempty"`
}

// ClaimerKind says what kind of process claims events.
//
// +kubebuilder:validation:Enum=NodeAgent;Controller
type ClaimerKind string

// The kinds of claimers.
const (
	// NodeAgent is the agent on the event's node.
	NodeAgent ClaimerKind = "NodeAgent"
	// Controller is the cluster's controller, in central mode.
	Controller ClaimerKind = "Controller"
)

// Claimer is who claimed an event.
type Claimer struct {
	// kind of process.
	// +required
	Kind ClaimerKind `json:"kind"`
	// identity is the name of the node for an agent, and of the leader election for
	// the controller: whoever takes over from a claimer that died has the same.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Identity string `json:"identity"`
}

// Progress is how far a driver is, in units of its own: for a drain, pods.
type Progress struct {
	// total number of units.
	// +optional
	Total int32 `json:"total"`
	// done is how many of them are.
	// +optional
	Done int32 `json:"done"`
	// summary for people, such as "12/30".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Summary string `json:"summary,omitempty"`
}

// PodReference is one pod, and no other of the same name.
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

// Blocker is one thing that holds a driver up.
type Blocker struct {
	// object that is held up, as kind and namespace/name: "Pod shop/cart-0".
	// +required
	// +kubebuilder:validation:MaxLength=600
	Object string `json:"object"`
	// reason is a CamelCase code.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason"`
	// by is what is in the way, as kind and namespace/name: "PodDisruptionBudget
	// shop/cart".
	// +optional
	// +kubebuilder:validation:MaxLength=600
	By string `json:"by,omitempty"`
	// message for people: what is the matter, and what would help.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// since when it holds the driver up.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
