// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodeAvailabilityBudget limits how many of the selected nodes are out of service at a time, over all drains,
// maintenances and users.
//
// Slipway's controller lets a LifecycleEvent take a node out of service only while every budget that selects the
// node allows it; until then the event waits (condition GuardsPassed, reason NodeAvailabilityBudget). A node that
// is out of service takes no further slot. Returns, cancellations and shutdowns do not wait. Nodes that other tools
// take out of service are counted, and not prevented.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=nab
// +kubebuilder:printcolumn:name="Max unavailable",type=string,JSONPath=`.spec.maxUnavailable`
// +kubebuilder:printcolumn:name="Min available",type=string,JSONPath=`.spec.minAvailable`
// +kubebuilder:printcolumn:name="Per",type=string,JSONPath=`.spec.topologyKey`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="Unavailable",type=integer,JSONPath=`.status.unavailable`
// +kubebuilder:printcolumn:name="Allowed",type=integer,JSONPath=`.status.disruptionsAllowed`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeAvailabilityBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec selects the nodes, and sets the limit.
	// +required
	Spec NodeAvailabilityBudgetSpec `json:"spec"`

	// status is written by Slipway's controller.
	// +optional
	Status NodeAvailabilityBudgetStatus `json:"status,omitzero"`
}

// NodeAvailabilityBudgetSpec selects nodes, and limits how many of them are out of service.
//
// +kubebuilder:validation:XValidation:rule="has(self.maxUnavailable) != has(self.minAvailable)",message="spec must have exactly one of maxUnavailable and minAvailable"
type NodeAvailabilityBudgetSpec struct {
	// selector selects the nodes by their labels. An empty selector, {}, selects all nodes.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="spec.selector: operator must be In, NotIn, Exists or DoesNotExist",fieldPath=".matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && e.values.size() > 0))",message="spec.selector: In and NotIn need values, Exists and DoesNotExist take none",fieldPath=".matchExpressions"
	Selector metav1.LabelSelector `json:"selector"`

	// maxUnavailable is the largest number of selected nodes that may be out of service: a number, or a percentage,
	// rounded up as in a PodDisruptionBudget.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="spec.maxUnavailable must be a number, 0 or more, or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// minAvailable is the smallest number of selected nodes that stay in service: a number, or a percentage,
	// rounded up as in a PodDisruptionBudget.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="spec.minAvailable must be a number, 0 or more, or a percentage from 0% to 100%"
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// topologyKey is the key of a label of nodes. The limit then applies to the nodes of each value of that label;
	// nodes without the label are one group. Unset: to all selected nodes together.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey,omitempty"`
}

// NodeAvailabilityBudgetStatus has the counts of a budget. Nodes that were never Ready, and nodes that are being
// deleted, are in none of them.
type NodeAvailabilityBudgetStatus struct {
	// observedGeneration is the generation that the counts are of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// nodes is the number of selected nodes.
	// +optional
	Nodes int32 `json:"nodes"`
	// unavailable is the number of selected nodes that are out of service.
	// +optional
	Unavailable int32 `json:"unavailable"`
	// disruptionsAllowed is the number of further nodes that may be taken out of service now. With a topologyKey, it
	// is the sum over all groups.
	// +optional
	DisruptionsAllowed int32 `json:"disruptionsAllowed"`
	// unavailableNodes are nodes that are out of service, by name: the first 64.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	UnavailableNodes []UnavailableNode `json:"unavailableNodes,omitempty"`
	// message is the error for which the budget has no counts, and holds back all events of its nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// UnavailableNode is a node that is out of service.
type UnavailableNode struct {
	// name is the name of the node.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// group is the value of the topologyKey.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Group string `json:"group,omitempty"`
	// reason is the cause, as text.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
}

// NodeAvailabilityBudgetList is a list of NodeAvailabilityBudgets.
//
// +kubebuilder:object:root=true
type NodeAvailabilityBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeAvailabilityBudget `json:"items"`
}
