// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MaintenanceDrain defines how pods leave, like [DrainParameters].
type MaintenanceDrain struct {
	// mode selects the pods that the drain leaves to responders. Unset: Auto.
	// +optional
	Mode DrainMode `json:"mode,omitempty"`
	// gracePeriodSeconds is the grace period of each pod, at least 1. Unset: the pod's own.
	// +optional
	// +kubebuilder:validation:Minimum=1
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`
	// podTimeout is the time limit for a pod. After it, the pods of later orders leave too.
	// Unset: no limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.drain.podTimeout must be greater than 0"
	PodTimeout *metav1.Duration `json:"podTimeout,omitempty"`
	// unmanagedPods defines the treatment of pods without a controller. Unset: Evict.
	// +optional
	UnmanagedPods PodPolicy `json:"unmanagedPods,omitempty"`
	// localStorage defines the treatment of pods with emptyDir volumes. Unset: Evict.
	// +optional
	LocalStorage PodPolicy `json:"localStorage,omitempty"`
	// volumeTimeout is the time limit for the detachment of volumes. Unset: 2m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.drain.volumeTimeout must be greater than 0"
	VolumeTimeout *metav1.Duration `json:"volumeTimeout,omitempty"`
	// escalation defines the treatment of pods that do not leave. Unset: no escalation. deleteAfter
	// requires the verb override-budgets on lifecycleevents.
	// +optional
	Escalation *DrainEscalation `json:"escalation,omitempty"`
	// timeout is the time limit for the drain of a node. After it, the node has failed, and stays
	// cordoned. Unset: no limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.drain.timeout must be greater than 0"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// MaintenanceRollout takes a limited number of nodes out of service at a time. A node counts as
// out of service from its start, which is before its cordon, until it has returned and is
// healthy: Ready, schedulable, and with Ready static pods and DaemonSet pods. Other nodes start
// before a node whose lease belongs to another holder.
//
// +kubebuilder:validation:XValidation:rule="!has(self.perDomain) || has(self.topologyKey)",message="spec.rollout.perDomain needs topologyKey",fieldPath=".perDomain"
type MaintenanceRollout struct {
	// maxUnavailable limits the number of selected nodes that are out of service at a time: a
	// number, or a percentage of the selected nodes, rounded down, at least one. Nodes that are
	// down for other reasons count. Unset: 1; with perDomain, only perDomain limits the number.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="spec.rollout.maxUnavailable must be at least 1, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// topologyKey is a label of the nodes, such as topology.kubernetes.io/zone. Nodes with the
	// same value form a domain; nodes without the label form one more domain. Unset: all nodes
	// form one domain.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	TopologyKey string `json:"topologyKey,omitempty"`

	// perDomain limits the number of nodes of each domain that are out of service at a time, in
	// all domains side by side. Unset: one domain after the other, by name; maxUnavailable is the
	// only limit in each domain.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PerDomain *int32 `json:"perDomain,omitempty"`

	// batches starts the next nodes only when all nodes that are out of service have returned.
	// Unset: false, each returned node lets one more node start.
	// +optional
	Batches bool `json:"batches,omitempty"`

	// pauseAfter is the number of returned nodes after which no other nodes start until it is
	// raised or removed. Nodes in work count as returned: during the pause, no node is out of
	// service. Unset: never.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PauseAfter *int32 `json:"pauseAfter,omitempty"`

	// failureThreshold is the number of failed nodes after which no other nodes start. Unset: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`

	// maxPendingPods is the number of new pods that are Pending or not Ready from which on no
	// other nodes start. New pods were created after the start of the maintenance; most of them
	// replace evicted pods. With 1, all replacements must run before the next node starts. These
	// pods do not count: pods on nodes that are being drained; DaemonSet pods that are bound to a
	// node, which their own node checks when it returns; static pods; pods that run to
	// completion, after they have started; and pods whose controller has older pods that are not
	// Ready. Unset: 10. 0: no such limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPendingPods *int32 `json:"maxPendingPods,omitempty"`
}

// MaintenanceWindow defines when nodes may be taken out of service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.notBefore) || !has(self.deadline) || self.notBefore < self.deadline",message="spec.window.deadline must be after notBefore",fieldPath=".deadline"
type MaintenanceWindow struct {
	// notBefore is the earliest time for the first node. Unset: at once.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// deadline is the latest time for the last node. Unset: no deadline.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// atDeadline defines the treatment of nodes with a drain in progress at the deadline. Unset:
	// Finish. Drained nodes continue to their return in any case.
	// +optional
	AtDeadline AtDeadline `json:"atDeadline,omitempty"`
}

// AtDeadline defines the treatment of drains in progress at the end of the window.
//
// +kubebuilder:validation:Enum=Finish;Cancel
type AtDeadline string

// The treatments.
const (
	// FinishAtDeadline completes the drain and all later steps.
	FinishAtDeadline AtDeadline = "Finish"
	// CancelAtDeadline cancels the drain and returns the node. Evicted pods stay on their new
	// nodes.
	CancelAtDeadline AtDeadline = "Cancel"
)
