// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DrainParameters is the content of spec.parameters of a LifecycleEvent whose driver is the drain
// driver. It is not a separate API object. You may change it during the event: the drain then
// continues with the new values.
//
// Write durations like 90s or 1h30m.
type DrainParameters struct {
	// apiVersion slipway.dev/v1alpha1 and kind DrainParameters are required.
	metav1.TypeMeta `json:",inline"`

	// mode selects the pods that the drain leaves to responders (KEP-4563) instead of evicting
	// them. Unset: Auto. In no mode does the drain evict or delete a pod while one of its
	// responders works.
	// +optional
	Mode DrainMode `json:"mode,omitempty"`

	// gracePeriodSeconds is the grace period of each pod, at least 1. Unset: the default of the
	// driver, which is the pod's own grace period unless configured.
	// +optional
	// +kubebuilder:validation:Minimum=1
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`

	// targets select the pods that leave: each pod that at least one target covers. Unset or
	// empty: all pods except DaemonSet pods and static pods.
	// +optional
	Targets []DrainTarget `json:"targets,omitempty"`

	// hold keeps the event from ending. After the targets are reached, condition TargetsReached
	// reports this, and the drain also evicts new pods, until hold is false, the event is
	// deleted, or the event ends. Unset: false.
	// +optional
	Hold bool `json:"hold,omitempty"`

	// passFreezes evicts pods also while a Freeze selects the node, in an emergency. It requires the verb break-glass on
	// lifecycleevents. Unset: false.
	// +optional
	PassFreezes bool `json:"passFreezes,omitempty"`

	// podTimeout is the time limit for a pod, from the moment when the drain reaches its order.
	// After it, the pods of later orders leave too, and the drain evicts a pod whose completion
	// it was waiting for. A DrainRule can shorten it. Unset or 0: no limit.
	// +optional
	PodTimeout *metav1.Duration `json:"podTimeout,omitempty"`

	// unmanagedPods defines the treatment of pods without a controller, which would not start
	// again. Unset: Evict.
	// +optional
	UnmanagedPods PodPolicy `json:"unmanagedPods,omitempty"`

	// localStorage defines the treatment of pods with emptyDir volumes, whose content is lost.
	// Unset: Evict.
	// +optional
	LocalStorage PodPolicy `json:"localStorage,omitempty"`

	// escalation defines the treatment of pods that do not leave. Unset: no escalation.
	// +optional
	Escalation *DrainEscalation `json:"escalation,omitempty"`

	// volumeTimeout is the time limit for the detachment of volumes, after the pods have
	// terminated. Condition PodsLeft lists volumes that are still attached then. Unset: 2m. 0:
	// the drain does not wait.
	// +optional
	VolumeTimeout *metav1.Duration `json:"volumeTimeout,omitempty"`
}

// DrainMode selects the pods that a drain leaves to responders. It never selects DaemonSet pods
// and completed pods.
//
// +kubebuilder:validation:Enum=Auto;EvictionRequest;Eviction
type DrainMode string

// The modes.
const (
	// DrainAuto leaves pods that name responders to them, and evicts all other pods. It also
	// evicts a pod that names responders if no responder has answered for 30 s, or all responders
	// have failed. Without the API of Evictions, it evicts all pods.
	DrainAuto DrainMode = "Auto"
	// DrainEvictionRequest leaves all pods to responders and evicts none: without responders, the
	// drain is blocked.
	DrainEvictionRequest DrainMode = "EvictionRequest"
	// DrainEviction evicts all pods, and uses no responder.
	DrainEviction DrainMode = "Eviction"
)

// DrainTarget covers the pods of a type, up to a priority, with some labels.
type DrainTarget struct {
	// podType of the pods.
	// +required
	PodType PodType `json:"podType"`

	// podPriority is the highest priority of the pods. A pod without a priority has 0. Unset: any
	// priority.
	// +optional
	PodPriority *int32 `json:"podPriority,omitempty"`

	// podSelector selects the pods by their labels. Unset or empty: all.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
}

// PodType is a type of pods, as NodeMaintenance (KEP-4212) distinguishes them.
//
// +kubebuilder:validation:Enum=Default;DaemonSet;Static
type PodType string

// The types of pods.
const (
	// PodTypeDefault is every pod that is neither a DaemonSet pod nor static.
	PodTypeDefault PodType = "Default"
	// PodTypeDaemonSet is every DaemonSet pod, except in Slipway's own namespace. The DaemonSet
	// creates the pod again at once, unless a NodeMaintenance prevents this.
	PodTypeDaemonSet PodType = "DaemonSet"
	// PodTypeStatic is every pod that the kubelet runs from a file. The API cannot evict such a
	// pod. After all other pods have left, slipway-host moves its manifest aside on the machine,
	// if it runs with --static-pods, and restores it when the node returns. Static pods of the
	// control plane stay, unless slipway-host runs with --control-plane-static-pods.
	PodTypeStatic PodType = "Static"
)

// PodPolicy permits or refuses the eviction of certain pods.
//
// +kubebuilder:validation:Enum=Evict;Refuse
type PodPolicy string

// The policies.
const (
	// PodPolicyEvict evicts these pods like all other pods.
	PodPolicyEvict PodPolicy = "Evict"
	// PodPolicyRefuse evicts no pod at all while there is such a pod, and reports it as a
	// blocker.
	PodPolicyRefuse PodPolicy = "Refuse"
)

// DrainEscalation defines further steps after an unsuccessful eviction: delete the pod, then kill
// it. Each step has its own time. Unset or 0 means never.
type DrainEscalation struct {
	// deleteAfter is the time after which the drain deletes a pod whose eviction is refused,
	// REGARDLESS OF ITS PODDISRUPTIONBUDGETS. The time counts refusals without interruption,
	// after the drain has reached the order of the pod. It starts again for all pods of a
	// PodDisruptionBudget when the PodDisruptionBudget allows a disruption. Condition
	// BudgetsOverridden names the pods.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="spec.drain.escalation.deleteAfter must not be negative"
	DeleteAfter *metav1.Duration `json:"deleteAfter,omitempty"`

	// killAfter is the time after which the drain deletes a terminating pod again with a grace
	// period of 1 s, counted from its first deletion. The kubelet still confirms the termination
	// of its containers.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="spec.drain.escalation.killAfter must not be negative"
	KillAfter *metav1.Duration `json:"killAfter,omitempty"`
}
