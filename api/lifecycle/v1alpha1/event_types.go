// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClaimProtectionFinalizer protects a claimed event (KEP-5683). The claimer sets it after the
// claim and before the first call of the driver, and removes it when the event has ended.
const ClaimProtectionFinalizer = "lifecycle.k8s.io/claim-protection"

// LifecycleEvent requests a LifecycleTransition of one node. The agent of that node claims the
// event, calls the driver, and deletes the event when it has ended. To cancel a claimed event,
// delete it.
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

	// spec defines the request.
	// +required
	Spec LifecycleEventSpec `json:"spec"`

	// status reports the progress. The claimer writes it. If no claimer is alive, Slipway's
	// controller writes it.
	// +optional
	// +kubebuilder:default={claimStatus: Pending}
	Status LifecycleEventStatus `json:"status,omitempty"`
}

// LifecycleEventSpec defines the requested transition and its node.
//
// +kubebuilder:validation:XValidation:rule="!has(self.targetRef)",message="spec.targetRef is reserved: the target of an event is the node in spec.bindingNode",fieldPath=".targetRef"
// +kubebuilder:validation:XValidation:rule="has(self.requestedBy) == has(oldSelf.requestedBy)",message="spec.requestedBy is immutable",fieldPath=".requestedBy"
// +kubebuilder:validation:XValidation:rule="has(self.actor) == has(oldSelf.actor)",message="spec.actor is immutable",fieldPath=".actor"
// +kubebuilder:validation:XValidation:rule="has(self.until) == has(oldSelf.until)",message="spec.until is immutable",fieldPath=".until"
// +kubebuilder:validation:XValidation:rule="has(self.sla) == has(oldSelf.sla)",message="spec.sla is immutable",fieldPath=".sla"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.allow) || has(self.allow)",message="spec.allow can be added to, not taken from",fieldPath=".allow"
// +kubebuilder:validation:XValidation:rule="!has(self.gates) || has(oldSelf.gates)",message="spec.gates can be removed, not added",fieldPath=".gates"
type LifecycleEventSpec struct {
	// transitionName is the name of a LifecycleTransition. If it does not exist yet, the event
	// waits, and reports this in its conditions.
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

	// targetRef is reserved for targets other than nodes, such as devices. The API server rejects events
	// that have it. Without the field, it would drop the target and keep an event of the node.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	TargetRef *runtime.RawExtension `json:"targetRef,omitempty"`

	// sla overrides the transition's sla for this event: the maximum duration from claim to end.
	// An addition of Slipway.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.sla must be greater than 0"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.sla is immutable"
	SLA *metav1.Duration `json:"sla,omitempty"`

	// parameters are passed to the driver unchanged, and again after each change while the event
	// is Pending or Claimed. They are opaque to the agent. For the drain, this is a
	// DrainParameters object of slipway.dev/v1alpha1. At most 16 KiB as JSON. An addition of
	// Slipway.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`

	// gates hold the event back, as scheduling gates hold back a pod: the event cannot be claimed
	// while it has a gate. Set gates when you create the event. The owner of a gate removes it.
	// An addition of Slipway.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(g, oldSelf.exists(o, o.name == g.name))",message="spec.gates can be removed, not added"
	Gates []Gate `json:"gates,omitempty"`

	// allow lists the guards that must not hold this event. You may add guards while a guard
	// holds the event (condition GuardsPassed), but not remove them: a released event is not held
	// again. An addition of Slipway.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="oldSelf.all(g, g in self)",message="spec.allow can be added to, not taken from"
	Allow []Guard `json:"allow,omitempty"`

	// reason explains the request to users. An addition of Slipway.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// requestedBy is the name of the user that created the event, as authenticated by the API
	// server. An addition of Slipway.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.requestedBy is immutable"
	RequestedBy string `json:"requestedBy,omitempty"`

	// actor distinguishes requesters that share a user, for example the pipelines of one service
	// account. Only the same user and actor return the node (NodeHold of slipway.dev). An addition
	// of Slipway.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.actor is immutable"
	Actor string `json:"actor,omitempty"`

	// until is the time by which the requester expects to return the node. After that time an alert fires,
	// and nothing returns the node (NodeHold of slipway.dev). An addition of Slipway.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.until is immutable"
	Until *metav1.Time `json:"until,omitempty"`
}

// Guard is a check that Slipway's controller makes before it removes [GateGuards].
//
// +kubebuilder:validation:Enum=LastSchedulableNode;SecondControlPlaneNode
type Guard string

// The guards.
const (
	// GuardLastSchedulableNode holds an event that would leave no node for pods: no node that is
	// Ready, schedulable and not reserved for the control plane.
	GuardLastSchedulableNode Guard = "LastSchedulableNode"
	// GuardSecondControlPlaneNode holds an event of a control plane node while Slipway takes
	// another control plane node out of service, or has cordoned it.
	GuardSecondControlPlaneNode Guard = "SecondControlPlaneNode"
)

// GateGuards is the gate that Slipway's controller removes when the guards let the event pass. If
// guards are enabled, an admission policy sets it on new events.
const GateGuards = "slipway.dev/guards"

// GateLease is the gate that Slipway's controller removes when Slipway holds the lease of the
// event's node. If node leases are enabled, an admission policy sets it on new events that take a
// node out of service.
const GateLease = "slipway.dev/lease"

// NoticeAnnotation identifies the content of one of Slipway's core Events: the UID of the
// LifecycleEvent, the reason, and a key that distinguishes Events of the same reason, separated
// by spaces. Two core Events with the same content have the same value.
const NoticeAnnotation = "slipway.dev/notice"

// ReleaseClaimAnnotation on a LifecycleEvent that a third-party controller has claimed makes Slipway's
// controller end the event as Failed, and delete it as any ended event. A person sets it, with any value,
// when the claimer no longer exists; that requires the verb release-claims on lifecycleevents.
const ReleaseClaimAnnotation = "slipway.dev/release-claim"

// BreakGlassAnnotation on a new LifecycleEvent lets it pass holds, availability budgets, guards, freezes, leases and the claims of
// third-party controllers: it gets no gate, so it needs no controller. A person sets it in an emergency, with any value, and
// with spec.reason; that requires the verb break-glass on lifecycleevents. PodDisruptionBudgets still count.
const BreakGlassAnnotation = "slipway.dev/break-glass"

// HoldFinalizer keeps an event that has a NodeHold until Slipway's controller has seen its end: the hold
// of a drained node stays, the hold of a canceled event is released.
const HoldFinalizer = "slipway.dev/hold"

// StateDrainComplete is the end state of a transition that leaves the node out of service (KEP-5683): its
// NodeHold outlives the event.
const StateDrainComplete = "drain-complete"

// StateMaintenanceComplete is the end state of a transition that returns a node (KEP-5683).
// Guards do not hold its events.
const StateMaintenanceComplete = "maintenance-complete"

// IsState reports whether a name is a state in any spelling: KEP-5683 has MaintenanceComplete, the
// README of the drain driver maintenance-complete.
func IsState(name, state string) bool {
	return strings.EqualFold(strings.ReplaceAll(name, "-", ""), strings.ReplaceAll(state, "-", ""))
}

// DrainTransition and ReturnTransition are the transitions of Slipway's drain driver.
const (
	DrainTransition  = "drain.slm.k8s.io"
	ReturnTransition = "drain.slm.k8s.io-uncordon"
)

// Gate holds an event back until its owner removes it.
type Gate struct {
	// name identifies the owner of the gate: a domain-prefixed key such as
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
