// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MaintenanceDrain says how pods leave, as [DrainParameters] do.
type MaintenanceDrain struct {
	// mode says which pods are left to those who respond to Evictions. Unset: Auto.
	// +optional
	Mode DrainMode `json:"mode,omitempty"`
	// gracePeriodSeconds is how long each pod may take to end, at least 1. Unset: the pod's own.
	// +optional
	// +kubebuilder:validation:Minimum=1
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`
	// podTimeout is how long the drain waits for a pod before it lets others leave that come
	// after it. Unset: without limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.drain.podTimeout must be greater than 0"
	PodTimeout *metav1.Duration `json:"podTimeout,omitempty"`
	// unmanagedPods says what happens to pods without a controller. Unset: Evict.
	// +optional
	UnmanagedPods PodPolicy `json:"unmanagedPods,omitempty"`
	// localStorage says what happens to pods with emptyDir volumes. Unset: Evict.
	// +optional
	LocalStorage PodPolicy `json:"localStorage,omitempty"`
	// volumeTimeout is how long the drain waits until volumes are detached. Unset: 2m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.drain.volumeTimeout must be greater than 0"
	VolumeTimeout *metav1.Duration `json:"volumeTimeout,omitempty"`
	// timeout is how long the drain of a node may take; then the node has failed, and stays
	// cordoned. Unset: without limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.drain.timeout must be greater than 0"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// MaintenanceRollout takes some nodes out at a time. A node is out from when its turn comes,
// which is before its cordon, until it has returned and is healthy: Ready, schedulable, and
// with its static pods and those of its DaemonSets Ready. One that somebody else has leased
// lets others begin before it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.perDomain) || has(self.topologyKey)",message="spec.rollout.perDomain needs topologyKey",fieldPath=".perDomain"
type MaintenanceRollout struct {
	// maxUnavailable is how many of the selected nodes may be out at a time: a number, or a
	// percentage of them, rounded down, at least one. Nodes that are down by themselves count.
	// Unset: 1, or with perDomain no limit but that.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="spec.rollout.maxUnavailable must be at least 1, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// topologyKey is a label of the nodes, such as topology.kubernetes.io/zone. Nodes with
	// the same value are a domain; those without it are one of their own. Unset: all are one.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	TopologyKey string `json:"topologyKey,omitempty"`

	// perDomain is how many nodes of each domain may be out at a time, in all domains side by
	// side. Unset: one domain after the other, by name; maxUnavailable is the only limit in it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PerDomain *int32 `json:"perDomain,omitempty"`

	// batches: the next nodes begin when all that are out have returned. Unset: false, one
	// begins as soon as one has returned.
	// +optional
	Batches bool `json:"batches,omitempty"`

	// pauseAfter: when so many nodes have returned, no more begin until it is raised or
	// removed. Those that are at work count as if they had returned: after it, none is out.
	// Unset: never.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PauseAfter *int32 `json:"pauseAfter,omitempty"`

	// failureThreshold: when so many nodes have failed, no more begin. Unset: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`

	// maxPendingPods: no more nodes begin while so many pods, or more, are Pending or not Ready
	// that were created since the maintenance began: above all, what replaces those that were
	// evicted. So with 1, all of them run again before the next node begins. Not counted are
	// pods on nodes that are being drained; and of those that a node has taken, pods of
	// DaemonSets, which are looked at when their node returns, static ones, those that run to
	// an end, and those of a controller that has older pods that are not Ready. Unset: 10. 0:
	// no such brake.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPendingPods *int32 `json:"maxPendingPods,omitempty"`
}

// MaintenanceWindow says when nodes may be taken out.
//
// +kubebuilder:validation:XValidation:rule="!has(self.notBefore) || !has(self.deadline) || self.notBefore < self.deadline",message="spec.window.deadline must be after notBefore",fieldPath=".deadline"
type MaintenanceWindow struct {
	// notBefore is when the first node may be taken out. Unset: at once.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// deadline is when the last node may be taken out. Unset: none.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// atDeadline says what becomes of nodes that are being drained at the deadline. Unset:
	// Finish. Those that are drained go on to their return in any case.
	// +optional
	AtDeadline AtDeadline `json:"atDeadline,omitempty"`
}

// AtDeadline says what becomes of a drain that the end of the window finds unfinished.
//
// +kubebuilder:validation:Enum=Finish;Cancel
type AtDeadline string

// What becomes of it.
const (
	// FinishAtDeadline: it goes on, and so does what comes after it.
	FinishAtDeadline AtDeadline = "Finish"
	// CancelAtDeadline: it is canceled and the node returns. Pods that have left stay away.
	CancelAtDeadline AtDeadline = "Cancel"
)
