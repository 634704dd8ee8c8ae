// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ClaimProtectionFinalizer is set on an event after it has been claimed and before
// its driver is called, and removed when the event has ended (KEP-5683).
const ClaimProtectionFinalizer = "lifecycle.k8s.io/claim-protection"

// LifecycleEvent asks for a LifecycleTransition of one node. The agent of that node
// claims it, has the driver carry it out, and deletes it when it has ended. Deleting
// a claimed event cancels it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=lce
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, provided by Slipway"
// +kubebuilder:selectablefield:JSONPath=`.spec.bindingNode`
// +kubebuilder:printcolumn:name="Transition",type=string,JSONPath=`.spec.transitionName`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.spec.bindingNode`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.claimStatus`
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.status.driver.name`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress.summary`
// +kubebuilder:printcolumn:name="Deadline",type=string,JSONPath=`.status.sla`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LifecycleEvent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is asked for.
	// +required
	Spec LifecycleEventSpec `json:"spec"`

	// status says how far it is. It is written by the claimer, and by Slipway's controller
	// where there is none that is alive.
	// +optional
	// +kubebuilder:default={claimStatus: Pending}
	Status LifecycleEventStatus `json:"status,omitempty"`
}

// LifecycleEventSpec says which transition is asked for, and where.
//
// +kubebuilder:validation:XValidation:rule="has(self.requestedBy) == has(oldSelf.requestedBy)",message="spec.requestedBy is immutable",fieldPath=".requestedBy"
// +kubebuilder:validation:XValidation:rule="has(self.sla) == has(oldSelf.sla)",message="spec.sla is immutable",fieldPath=".sla"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.allow) || has(self.allow)",message="spec.allow can be added to, not taken from",fieldPath=".allow"
// +kubebuilder:validation:XValidation:rule="!has(self.gates) || has(oldSelf.gates)",message="spec.gates can be removed, not added",fieldPath=".gates"
type LifecycleEventSpec struct {
	// transitionName is the name of a LifecycleTransition. It need not exist yet: the
	// event then waits, and says so in its conditions.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.transitionName is immutable"
	TransitionName string `json:"transitionName"`

	// bindingNode is the name of the node whose agent may claim the event.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.bindingNode is immutable"
	BindingNode string `json:"bindingNode"`

	// sla overrides the transition's sla for this event: how long it may take, from
	// claim to end. An addition of Slipway.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.sla must be greater than 0"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.sla is immutable"
	SLA *metav1.Duration `json:"sla,omitempty"`

	// parameters is handed to the driver as it stands, and handed on again when it
	// changes while the event is Pending or Claimed. It is opaque to the agent; for
	// the drain it is a DrainParameters object of slipway.dev/v1alpha1. At most
	// 16 KiB as JSON. An addition of Slipway.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`

	// gates hold the event back, as a pod's scheduling gates hold back a pod: it is
	// not claimed while there is one. Gates are set when the event is created, and
	// each is removed by its owner. An addition of Slipway.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(g, oldSelf.exists(o, o.name == g.name))",message="spec.gates can be removed, not added"
	Gates []Gate `json:"gates,omitempty"`

	// allow lists the guards that do not hold this event: what they warn of is wanted.
	// It may be added to while a guard holds the event (condition GuardsPassed), and not
	// be taken from: what was let go is not called back. An addition of Slipway.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="oldSelf.all(g, g in self)",message="spec.allow can be added to, not taken from"
	Allow []Guard `json:"allow,omitempty"`

	// reason is for people: why the transition is asked for. An addition of Slipway.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// requestedBy is who asked for it: the name of a user, as the API server knew
	// them. An addition of Slipway.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.requestedBy is immutable"
	RequestedBy string `json:"requestedBy,omitempty"`
}

// Guard is a check that Slipway's controller makes before it removes [GateGuards].
//
// +kubebuilder:validation:Enum=LastSchedulableNode;SecondControlPlaneNode
type Guard string

// The guards.
const (
	// GuardLastSchedulableNode holds an event that would leave no node for pods to go to:
	// none that is Ready, schedulable and not kept for the control plane.
	GuardLastSchedulableNode Guard = "LastSchedulableNode"
	// GuardSecondControlPlaneNode holds an event of a control plane's node while another
	// of them is being taken out, or is cordoned by Slipway.
	GuardSecondControlPlaneNode Guard = "SecondControlPlaneNode"
)

// GateGuards is the gate that Slipway's controller removes when the guards let the
// event pass. Where guards are enabled, an admission policy sets it on new events.
const GateGuards = "slipway.dev/guards"

// GateLease is the gate that Slipway's controller removes when Slipway holds the lease of
// the event's node. Where node leases are enabled, an admission policy sets it on new
// events that take a node out.
const GateLease = "slipway.dev/lease"

// NoticeAnnotation says on a core Event of Slipway's what it tells: the UID of the
// LifecycleEvent, the reason, and what tells it from others of the same reason, with a
// space between them. Two that tell the same have the same.
const NoticeAnnotation = "slipway.dev/notice"

// StateMaintenanceComplete is the end state of a transition that returns a node
// (KEP-5683). Guards do not hold its events.
const StateMaintenanceComplete = "maintenance-complete"

// Gate holds an event back until its owner removes it.
type Gate struct {
	// name says who holds the event back: a domain-prefixed key such as
	// "example.com/change-approval".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Name string `json:"name"`
}

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

// LifecycleEventList is a list of LifecycleEvents.
//
// +kubebuilder:object:root=true
type LifecycleEventList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []LifecycleEvent `json:"items"`
}
