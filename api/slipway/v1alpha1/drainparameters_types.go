// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DrainParameters is what spec.parameters of a LifecycleEvent holds when its driver
// is the drain driver. It is never an object of its own. It may be changed while the
// event is going on: the drain then goes on with what it says now.
//
// Durations are texts such as 90s or 1h30m.
type DrainParameters struct {
	// apiVersion slipway.dev/v1alpha1 and kind DrainParameters are required.
	metav1.TypeMeta `json:",inline"`

	// mode says which pods are left to those who respond to Evictions (KEP-4563), instead
	// of being evicted by the drain. Unset: Auto. In no mode is a pod evicted or deleted
	// while a responder of its own is at work on it.
	// +optional
	Mode DrainMode `json:"mode,omitempty"`

	// gracePeriodSeconds is how long each pod may take to end, at least 1. Unset: what
	// the driver was started with, which is the pod's own by default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`

	// targets say which pods leave: those that at least one of them covers. Unset or
	// empty: all pods but those of DaemonSets and static ones.
	// +optional
	Targets []DrainTarget `json:"targets,omitempty"`

	// hold keeps the event from ending: when its targets are reached, condition
	// TargetsReached says so, and what comes is evicted too, until hold is false or the
	// event is deleted or over. Unset: false.
	// +optional
	Hold bool `json:"hold,omitempty"`

	// podTimeout is how long the drain waits for a pod, once its turn has come, before
	// it lets those that come after it leave too. A pod whose completion is waited for
	// is then evicted. A DrainRule can shorten it. Unset or 0: without limit.
	// +optional
	PodTimeout *metav1.Duration `json:"podTimeout,omitempty"`

	// unmanagedPods says what happens to pods without a controller, which nobody would
	// start again. Unset: Evict.
	// +optional
	UnmanagedPods PodPolicy `json:"unmanagedPods,omitempty"`

	// localStorage says what happens to pods with emptyDir volumes, whose content is
	// lost. Unset: Evict.
	// +optional
	LocalStorage PodPolicy `json:"localStorage,omitempty"`

	// escalation says what happens to pods that do not leave. Unset: nothing.
	// +optional
	Escalation *DrainEscalation `json:"escalation,omitempty"`

	// volumeTimeout is how long the drain waits, once the pods are gone, until their
	// volumes are detached. What is still attached then is in condition PodsLeft. Unset:
	// 2m. 0: it does not wait.
	// +optional
	VolumeTimeout *metav1.Duration `json:"volumeTimeout,omitempty"`
}

// DrainMode says which pods a drain leaves to responders. It never leaves pods of
// DaemonSets, nor those that have ended.
//
// +kubebuilder:validation:Enum=Auto;EvictionRequest;Eviction
type DrainMode string

// The modes.
const (
	// DrainAuto leaves pods that have responders of their own, and evicts all others. It
	// evicts such a pod all the same if nobody has answered for 30 s, or all responders
	// have failed. Without the API of Evictions, it evicts all pods.
	DrainAuto DrainMode = "Auto"
	// DrainEvictionRequest leaves all pods and evicts none: where nobody responds, the
	// drain is held up.
	DrainEvictionRequest DrainMode = "EvictionRequest"
	// DrainEviction evicts all pods, and asks no responder.
	DrainEviction DrainMode = "Eviction"
)

// DrainTarget covers the pods of a type, up to a priority, with some labels.
type DrainTarget struct {
	// podType of the pods.
	// +required
	PodType PodType `json:"podType"`

	// podPriority is the highest priority of the pods. One without a priority has 0.
	// Unset: pods of any priority.
	// +optional
	PodPriority *int32 `json:"podPriority,omitempty"`

	// podSelector selects the pods by their labels. Unset or empty: all.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
}

// PodType is a kind of pod, as NodeMaintenance (KEP-4212) tells them apart.
//
// +kubebuilder:validation:Enum=Default;DaemonSet;Static
type PodType string

// The types of pods.
const (
	// PodTypeDefault is every pod that is neither of a DaemonSet nor static.
	PodTypeDefault PodType = "Default"
	// PodTypeDaemonSet is every pod of a DaemonSet, but for those of Slipway's own namespace.
	// Its DaemonSet starts it again at once, unless somebody sees to it that it does not, as
	// a NodeMaintenance does.
	PodTypeDaemonSet PodType = "DaemonSet"
	// PodTypeStatic is every pod that the kubelet runs from a file. Nobody can evict one through
	// the API: when all others have left, slipway-host takes its manifest away on the machine,
	// where it was told so (--static-pods), and puts it back when the node returns. Those of the
	// control plane are left, unless it was told otherwise (--control-plane-static-pods).
	PodTypeStatic PodType = "Static"
)

// PodPolicy says whether pods of some kind may be evicted.
//
// +kubebuilder:validation:Enum=Evict;Refuse
type PodPolicy string

// The policies.
const (
	// PodPolicyEvict: they are evicted as any other.
	PodPolicyEvict PodPolicy = "Evict"
	// PodPolicyRefuse: while there is one, nothing is evicted, and it is a blocker.
	PodPolicyRefuse PodPolicy = "Refuse"
)

// DrainEscalation is what follows an eviction that leads to nothing: delete the pod,
// then kill it. Each step has its own time; unset or 0 means never.
type DrainEscalation struct {
	// deleteAfter is when a pod whose eviction is refused is deleted, WHATEVER ITS
	// DISRUPTION BUDGETS SAY: when it has been its turn and it has been refused for so
	// long without a break. A budget that lets one of its pods go makes a break for all
	// of them. Condition BudgetsOverridden names the pods.
	// +optional
	DeleteAfter *metav1.Duration `json:"deleteAfter,omitempty"`

	// killAfter is when a pod that is terminating is deleted again with a grace period
	// of 1 s: so long after it was deleted first. The kubelet still confirms that its
	// containers have ended.
	// +optional
	KillAfter *metav1.Duration `json:"killAfter,omitempty"`
}
