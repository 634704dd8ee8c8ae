// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Freeze stops all disruptions of the selected nodes that Slipway would begin: while it exists, a LifecycleEvent does not take
// such a node out of service (condition GuardsPassed, reason Frozen), a drain in progress begins no eviction, and a
// NodeMaintenance starts no Job. Evictions and Jobs that have begun continue. Returns, cancellations and shutdowns
// are not stopped.
//
// Slipway's controller deletes the Freeze at spec.until. An event that breaks the glass passes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.spec.until`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Freeze struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec selects the nodes, and gives the reason.
	// +required
	Spec FreezeSpec `json:"spec"`
}

// FreezeSpec selects nodes, and gives the reason.
type FreezeSpec struct {
	// selector selects the nodes by their labels. An empty selector, {}, selects all nodes.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="spec.selector: operator must be In, NotIn, Exists or DoesNotExist",fieldPath=".matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && e.values.size() > 0))",message="spec.selector: In and NotIn need values, Exists and DoesNotExist take none",fieldPath=".matchExpressions"
	Selector metav1.LabelSelector `json:"selector"`

	// reason explains the freeze to users.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`

	// until is the end of the freeze. Unset: it lasts until a user deletes it.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// FreezeList is a list of Freezes.
//
// +kubebuilder:object:root=true
type FreezeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Freeze `json:"items"`
}
