// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DrainRule says how pods leave a node that is drained. An ordinary rule is written
// by those who own a namespace, and speaks for the pods of that namespace. A rule in
// Slipway's own namespace that has a namespaceSelector is a rule of the cluster: it
// speaks for the pods of the namespaces that it selects.
//
// Of the rules that select a pod, this is what counts:
//
//   - behavior and order: of the rule of the pod's namespace; without one, of the rule
//     of the cluster; without one, Evict and 0. Of several on the same level, the first
//     by name.
//   - deadline: the shortest of that rule's, of those of all rules of the cluster that
//     select the pod, and of podTimeout in the event's DrainParameters.
//
// A change of a rule counts at once, also for drains that are going on.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=drule
// +kubebuilder:printcolumn:name="Behavior",type=string,JSONPath=`.spec.behavior`
// +kubebuilder:printcolumn:name="Order",type=integer,JSONPath=`.spec.order`
// +kubebuilder:printcolumn:name="Deadline",type=string,JSONPath=`.spec.deadline`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DrainRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which pods, and how they leave.
	// +required
	Spec DrainRuleSpec `json:"spec"`
}

// DrainRuleSpec says which pods, and how they leave.
//
// +kubebuilder:validation:XValidation:rule="self.behavior != 'Skip' || !has(self.order)",message="spec.order must not be set with behavior Skip: the pods do not leave",fieldPath=".order"
// +kubebuilder:validation:XValidation:rule="self.behavior != 'Skip' || !has(self.deadline)",message="spec.deadline must not be set with behavior Skip: the drain does not wait for the pods",fieldPath=".deadline"
type DrainRuleSpec struct {
	// podSelector selects the pods by their labels. An empty one, {}, selects all.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="spec.podSelector: operator must be In, NotIn, Exists or DoesNotExist",fieldPath=".matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && e.values.size() > 0))",message="spec.podSelector: In and NotIn need values, Exists and DoesNotExist take none",fieldPath=".matchExpressions"
	PodSelector metav1.LabelSelector `json:"podSelector"`

	// namespaceSelector makes the rule one of the cluster: it speaks for the pods of
	// all namespaces whose labels it selects; an empty one, {}, selects all. It may be
	// set in Slipway's own namespace only; a rule that has one elsewhere is refused by
	// the admission policy that comes with Slipway, and ignored by the drain.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="spec.namespaceSelector: operator must be In, NotIn, Exists or DoesNotExist",fieldPath=".matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && e.values.size() > 0))",message="spec.namespaceSelector: In and NotIn need values, Exists and DoesNotExist take none",fieldPath=".matchExpressions"
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// behavior is what a drain does with the pods.
	// +required
	Behavior DrainBehavior `json:"behavior"`

	// order says who leaves first: a pod leaves when those of lower orders are gone, or
	// have had their time. It may be negative. Unset: 0. Not with Skip.
	// +optional
	Order int32 `json:"order,omitempty"`

	// deadline is how long the drain waits for each pod once its turn has come, such as
	// 90s or 1h30m; then the pods that come after it leave too, and a pod whose completion
	// was waited for is evicted. Unset: no limit by this rule. The deadline of a rule of
	// the cluster is a limit for rules of namespaces as well. Not with Skip.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.deadline must be greater than 0"
	Deadline *metav1.Duration `json:"deadline,omitempty"`
}

// DrainBehavior is what a drain does with a pod.
//
// +kubebuilder:validation:Enum=Evict;Skip;WaitCompleted
type DrainBehavior string

// The behaviors.
const (
	// DrainEvict: the pod is evicted, within its disruption budgets.
	DrainEvict DrainBehavior = "Evict"
	// DrainSkip: the pod is left on the node, and the drain does not wait for it.
	DrainSkip DrainBehavior = "Skip"
	// DrainWaitCompleted: the drain waits until the pod has ended by itself.
	DrainWaitCompleted DrainBehavior = "WaitCompleted"
)

// DrainRuleList is a list of DrainRules.
//
// +kubebuilder:object:root=true
type DrainRuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DrainRule `json:"items"`
}
