// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodeMaintenance takes nodes out of service and puts them back (KEP-4212): all of them
// together, by stages that somebody moves on; or, with a rollout, some at a time, from
// the drain to the return. Slipway's controller does all of it with LifecycleEvents, one
// for each node in work.
//
// Of several maintenances that select a node, the one that asks for the least decides how
// far its drain goes, and the node returns when none of them needs it out any more.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=nm
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.spec.stage`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="Out",type=integer,JSONPath=`.status.nodes.out`
// +kubebuilder:printcolumn:name="Done",type=integer,JSONPath=`.status.nodes.returned`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeMaintenance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which nodes, and what is to be done.
	// +required
	Spec NodeMaintenanceSpec `json:"spec"`

	// status says how far it is. It is written by Slipway's controller.
	// +optional
	Status NodeMaintenanceStatus `json:"status,omitempty"`
}

// NodeMaintenanceSpec says which nodes, and what is to be done.
//
// +kubebuilder:validation:XValidation:rule="has(self.drainPlan) == has(oldSelf.drainPlan)",message="spec.drainPlan is immutable",fieldPath=".drainPlan"
// +kubebuilder:validation:XValidation:rule="has(self.rollout) == has(oldSelf.rollout)",message="spec.rollout can be changed, not added or removed",fieldPath=".rollout"
// +kubebuilder:validation:XValidation:rule="has(self.requestedBy) == has(oldSelf.requestedBy)",message="spec.requestedBy is immutable",fieldPath=".requestedBy"
// +kubebuilder:validation:XValidation:rule="has(self.rollout) || !has(self.work)",message="spec.work needs spec.rollout: without one, the nodes wait for stage Complete",fieldPath=".work"
// +kubebuilder:validation:XValidation:rule="!has(self.allow) || !has(oldSelf.allow) || oldSelf.allow.all(g, g in self.allow)",message="spec.allow can be added to, not taken from",fieldPath=".allow"
type NodeMaintenanceSpec struct {
	// nodeSelector selects the nodes, also those that come to match it later. A node that
	// does not match any more while it is out is returned.
	// +required
	NodeSelector corev1.NodeSelector `json:"nodeSelector"`

	// stage is how far the maintenance may go: Idle, Cordon, Drain, Complete, in this
	// order. It is never moved back. Without a rollout, all nodes are in that stage at the
	// same time; with one, Drain starts the rollout, and Complete ends it early: nodes that
	// are out return, and no more begin. Unset: Idle.
	// +optional
	// +kubebuilder:default=Idle
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || oldSelf == 'Idle' || self == 'Complete' || oldSelf == 'Cordon' && self == 'Drain'",message="spec.stage goes from Idle to Cordon, Drain and Complete, and never back"
	Stage MaintenanceStage `json:"stage,omitempty"`

	// drainPlan says in which order pods leave, as steps: by podType, then by podPriority,
	// those with a podSelector first. A step begins when the one before is over on all nodes
	// of the maintenance; with a rollout, when it is over on the node itself. Pods of DaemonSets
	// leave only if it names them, and stay away until the node returns (Kubernetes 1.36 or
	// newer; before, their DaemonSets start them again). Static pods cannot be evicted. For each podType that it names, and for Default always, the steps up to the
	// highest priorities are added: 1000000000, 2000000000, 2000001000, 2147483647.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.drainPlan is immutable"
	// +kubebuilder:validation:XValidation:rule="self.all(t, has(t.podPriority))",message="spec.drainPlan: each entry needs a podPriority"
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.podType != 'Static')",message="spec.drainPlan: podType must be Default or DaemonSet: nobody can evict a static pod through the API"
	DrainPlan []DrainTarget `json:"drainPlan,omitempty"`

	// drain says how pods leave.
	// +optional
	Drain *MaintenanceDrain `json:"drain,omitempty"`

	// reason is for people: why.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// requestedBy is who asked for it: the name of a user, as the API server knew them.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.requestedBy is immutable"
	RequestedBy string `json:"requestedBy,omitempty"`

	// paused: no node is begun, and none goes on to what comes next for it. A drain that is
	// going on, goes on. Unset: false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// rollout takes some nodes out at a time. Unset: all together.
	// +optional
	Rollout *MaintenanceRollout `json:"rollout,omitempty"`

	// window says when nodes may be taken out. Unset: always.
	// +optional
	Window *MaintenanceWindow `json:"window,omitempty"`

	// hooks hold each node up at moments that others decide about.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Hooks []MaintenanceHook `json:"hooks,omitempty"`

	// work is what is done to each node between its drain and its return. Unset: Manual.
	// Only with a rollout.
	// +optional
	Work *MaintenanceWork `json:"work,omitempty"`

	// retry is raised to have the nodes that have failed tried again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="spec.retry can be raised, not lowered"
	Retry int64 `json:"retry,omitempty"`

	// allow lists what is wanted although it is refused otherwise.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1
	Allow []MaintenanceGuard `json:"allow,omitempty"`
}

// MaintenanceStage is how far a maintenance goes.
//
// +kubebuilder:validation:Enum=Idle;Cordon;Drain;Complete
type MaintenanceStage string

// The stages.
const (
	// StageIdle: nothing is done. The nodes say that a maintenance is planned.
	StageIdle MaintenanceStage = "Idle"
	// StageCordon: the nodes take no new pods.
	StageCordon MaintenanceStage = "Cordon"
	// StageDrain: the nodes are drained.
	StageDrain MaintenanceStage = "Drain"
	// StageComplete: the nodes return. It is the last stage.
	StageComplete MaintenanceStage = "Complete"
)

// MaintenanceGuard is something that is refused unless it is asked for by name.
//
// +kubebuilder:validation:Enum=AllControlPlaneNodes
type MaintenanceGuard string

// GuardAllControlPlaneNodes holds a maintenance without a rollout that selects every node
// of the control plane: they would all be out at the same time.
const GuardAllControlPlaneNodes MaintenanceGuard = "AllControlPlaneNodes"

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

// MaintenanceRollout takes some nodes out at a time. A node is out from its cordon until
// it has returned and is healthy: Ready, schedulable, and with its static pods and those of
// its DaemonSets Ready.
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

	// maxPendingPods: no more nodes begin while so many pods, or more, are Pending that were
	// created since the maintenance began. Unset: 10. 0: no such brake.
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

// MaintenanceHook holds each node up until somebody opens it: with the annotation
// hook.slipway.dev/NAME=Open on the LifecycleEvent of the node's drain. Hold there holds
// the node up without a timeout.
type MaintenanceHook struct {
	// name of the hook.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// at is when it holds a node up.
	// +required
	At HookPoint `json:"at"`
	// timeout is how long it is waited for. Unset: without limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.hooks: a timeout must be greater than 0"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// onTimeout is what happens then. Unset: Fail.
	// +optional
	OnTimeout HookTimeout `json:"onTimeout,omitempty"`
}

// HookPoint is a moment in the maintenance of a node.
//
// +kubebuilder:validation:Enum=BeforeDrain;AfterDrain;BeforeReturn
type HookPoint string

// The moments.
const (
	// BeforeDrain: nothing is done to the node yet.
	BeforeDrain HookPoint = "BeforeDrain"
	// AfterDrain: the node is drained, and no work has begun.
	AfterDrain HookPoint = "AfterDrain"
	// BeforeReturn: the work is done, and the node is still out.
	BeforeReturn HookPoint = "BeforeReturn"
)

// HookTimeout is what happens when a hook was not opened in time.
//
// +kubebuilder:validation:Enum=Fail;Proceed
type HookTimeout string

// What happens.
const (
	// HookFails: the node has failed.
	HookFails HookTimeout = "Fail"
	// HookProceeds: the node goes on.
	HookProceeds HookTimeout = "Proceed"
)

// MaintenanceWork is what is done to a node that is drained.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Job') == has(self.podTemplate)",message="spec.work.podTemplate is required with type Job, and not allowed otherwise",fieldPath=".podTemplate"
// +kubebuilder:validation:XValidation:rule="self.type == 'Job' || !has(self.backoffLimit)",message="spec.work.backoffLimit is for type Job",fieldPath=".backoffLimit"
type MaintenanceWork struct {
	// type of the work.
	// +required
	Type WorkType `json:"type"`
	// podTemplate is the name of a PodTemplate in Slipway's own namespace, of which the Job
	// of each node is made. Its pod runs on the node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PodTemplate string `json:"podTemplate,omitempty"`
	// timeout is how long the work may take on a node; then the node has failed. Unset:
	// without limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.work.timeout must be greater than 0"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// backoffLimit is how often a pod of the Job may fail: a pod that reboots its node does each
	// time. Unset: what Jobs have, which is 6.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}

// WorkType is who does the work.
//
// +kubebuilder:validation:Enum=None;Manual;Job
type WorkType string

// Who does it.
const (
	// WorkNone: nobody. A node that is drained returns.
	WorkNone WorkType = "None"
	// WorkManual: somebody who says so with kubectl slipway done NODE.
	WorkManual WorkType = "Manual"
	// WorkJob: a Job.
	WorkJob WorkType = "Job"
)

// NodeMaintenanceList is a list of NodeMaintenances.
//
// +kubebuilder:object:root=true
type NodeMaintenanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeMaintenance `json:"items"`
}
