// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RegisteredCentrallyAnnotation of a LifecycleTransition has the name of its driver while that driver
// is registered with the controller. Then the controller claims the events of the transition, and the
// agents do not. Only the controller writes it.
const RegisteredCentrallyAnnotation = "slipway.dev/registered-centrally"

// LifecycleTransition declares that a lifecycle driver can bring nodes from one state to another.
// It is a catalogue entry: it starts no work, and its deletion does not affect claimed events.
// Drivers publish their own transitions.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=lct
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, provided by Slipway"
// +kubebuilder:selectablefield:JSONPath=`.spec.driver`
// +kubebuilder:selectablefield:JSONPath=`.spec.nodeName`
// +kubebuilder:printcolumn:name="Start",type=string,JSONPath=`.spec.start`
// +kubebuilder:printcolumn:name="End",type=string,JSONPath=`.spec.end`
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.spec.driver`
// +kubebuilder:printcolumn:name="SLA",type=string,JSONPath=`.spec.sla`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LifecycleTransition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the transition, its nodes and its driver.
	// +required
	Spec LifecycleTransitionSpec `json:"spec"`
}

// LifecycleTransitionSpec describes a transition. Exactly one of nodeName, nodeSelector and
// allNodes selects its nodes. These three fields are immutable. The other fields may change,
// which does not affect events that are already claimed.
//
// +kubebuilder:validation:XValidation:rule="!has(self.targetRef)",message="spec.targetRef is reserved: a transition is for nodes",fieldPath=".targetRef"
// +kubebuilder:validation:XValidation:rule="[has(self.nodeName), has(self.nodeSelector), has(self.allNodes)].filter(x, x).size() == 1",message="exactly one of spec.nodeName, spec.nodeSelector and spec.allNodes must be set"
// +kubebuilder:validation:XValidation:rule="self.start != self.end",message="spec.start and spec.end must differ",fieldPath=".end"
// +kubebuilder:validation:XValidation:rule="has(self.nodeName) == has(oldSelf.nodeName) && has(self.nodeSelector) == has(oldSelf.nodeSelector) && has(self.allNodes) == has(oldSelf.allNodes)",message="spec.nodeName, spec.nodeSelector and spec.allNodes are immutable"
type LifecycleTransitionSpec struct {
	// start is the name of the state that begins when the driver has accepted the transition: any
	// text that is valid as the reason of a Node condition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9_,:.-]*[A-Za-z0-9_])?$`
	Start string `json:"start"`

	// end is the name of the state that is reached at the end of the transition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9_,:.-]*[A-Za-z0-9_])?$`
	End string `json:"end"`

	// driver is the name of the lifecycle driver of the transition, as it registers on the node.
	// It may have one slash ("example.com/reboot").
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)?$`
	Driver string `json:"driver"`

	// nodeName limits the transition to one node. Drivers on that node own it: it is deleted 30 s
	// after the driver has left the node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.nodeName is immutable"
	NodeName string `json:"nodeName,omitempty"`

	// nodeSelector limits the transition to the nodes that it selects. It has exactly one term.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.nodeSelectorTerms.size() == 1",message="spec.nodeSelector must have exactly one term",fieldPath=".nodeSelectorTerms"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.nodeSelector is immutable"
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty"`

	// allNodes makes the transition apply to every node. The only value is true.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self",message="spec.allNodes must be true or left out"
	AllNodes *bool `json:"allNodes,omitempty"`

	// targetRef is reserved for targets other than nodes, such as devices. The API server rejects
	// transitions that have it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	TargetRef *runtime.RawExtension `json:"targetRef,omitempty"`

	// sla is the maximum duration of the transition, from claim to end. Unset: no limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.sla must be greater than 0"
	SLA *metav1.Duration `json:"sla,omitempty"`
}

// LifecycleTransitionList is a list of LifecycleTransitions.
//
// +kubebuilder:object:root=true
type LifecycleTransitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []LifecycleTransition `json:"items"`
}
