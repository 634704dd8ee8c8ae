// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DrainRule defines how pods leave a node during a drain. The owners of a namespace write
// ordinary rules, which apply to the pods of that namespace. A rule in Slipway's own namespace
// with a namespaceSelector is a rule of the cluster: it applies to the pods of the namespaces
// that it selects.
//
// The label cluster.x-k8s.io/drain of a pod, with the value skip or wait-completed, chooses the
// behavior for that pod before all rules. If several rules select a pod and its node, these values
// apply:
//
//   - behavior and order: from the rule of the pod's namespace; if there is none, from the rule
//     of the cluster; if there is none, Evict and 0. Among several rules of the same level, the
//     first by name applies.
//   - deadline: the shortest one of that rule, of all rules of the cluster that select the pod,
//     and of podTimeout in the event's DrainParameters.
//
// A change of a rule takes effect at once, also for drains in progress.
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

	// spec selects pods, and defines how they leave.
	// +required
	Spec DrainRuleSpec `json:"spec"`
}

// DrainRuleSpec selects pods, and defines how they leave.
//
// +kubebuilder:validation:XValidation:rule="self.behavior != 'Skip' || !has(self.order)",message="spec.order must not be set with behavior Skip: the pods do not leave",fieldPath=".order"
// +kubebuilder:validation:XValidation:rule="self.behavior != 'Skip' || !has(self.deadline)",message="spec.deadline must not be set with behavior Skip: the drain does not wait for the pods",fieldPath=".deadline"
type DrainRuleSpec struct {
	// podSelector selects the pods by their labels. An empty selector, {}, selects all pods.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="spec.podSelector: operator must be In, NotIn, Exists or DoesNotExist",fieldPath=".matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && e.values.size() > 0))",message="spec.podSelector: In and NotIn need values, Exists and DoesNotExist take none",fieldPath=".matchExpressions"
	PodSelector metav1.LabelSelector `json:"podSelector"`

	// namespaceSelector makes the rule a rule of the cluster: it applies to the pods of all
	// namespaces whose labels it selects. An empty selector, {}, selects all namespaces. It is
	// valid only in Slipway's own namespace. In any other namespace, Slipway's admission policy
	// rejects it, and the drain ignores it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="spec.namespaceSelector: operator must be In, NotIn, Exists or DoesNotExist",fieldPath=".matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && e.values.size() > 0))",message="spec.namespaceSelector: In and NotIn need values, Exists and DoesNotExist take none",fieldPath=".matchExpressions"
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// nodeSelector limits the rule to drains of the nodes whose labels it selects. Unset, or an
	// empty selector, {}: all nodes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="spec.nodeSelector: operator must be In, NotIn, Exists or DoesNotExist",fieldPath=".matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && e.values.size() > 0))",message="spec.nodeSelector: In and NotIn need values, Exists and DoesNotExist take none",fieldPath=".matchExpressions"
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`

	// behavior is the action of the drain for the pods.
	// +required
	Behavior DrainBehavior `json:"behavior"`

	// order is the position of the pods: a pod leaves after all pods of lower orders have left or
	// reached their time limit. It may be negative. Unset: 0. Invalid with Skip.
	// +optional
	Order int32 `json:"order,omitempty"`

	// deadline is the time limit for each pod, from the moment when the drain reaches its order,
	// such as 90s or 1h30m. After it, the pods of later orders leave too, and the drain evicts a
	// pod whose completion it was waiting for. Unset: no limit by this rule. The deadline of a
	// rule of the cluster also limits rules of namespaces. Invalid with Skip.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.deadline must be greater than 0"
	Deadline *metav1.Duration `json:"deadline,omitempty"`
}

// DrainBehavior is the action of a drain for a pod.
//
// +kubebuilder:validation:Enum=Evict;Skip;WaitCompleted
type DrainBehavior string

// The behaviors.
const (
	// DrainEvict evicts the pod, within its PodDisruptionBudgets.
	DrainEvict DrainBehavior = "Evict"
	// DrainSkip leaves the pod on the node, and does not wait for it.
	DrainSkip DrainBehavior = "Skip"
	// DrainWaitCompleted waits until the pod has completed.
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
