// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// LifecycleEventList is a list of LifecycleEvents.
//
// +kubebuilder:object:root=true
type LifecycleEventList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []LifecycleEvent `json:"items"`
}
