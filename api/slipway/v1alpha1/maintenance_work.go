// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaintenanceHook delays each node until a user or a program opens the hook: with the annotation
// hook.slipway.dev/NAME=Open on the LifecycleEvent of the node's drain. The value Hold delays the
// node without a timeout.
type MaintenanceHook struct {
	// name of the hook.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// at is the point at which it delays a node.
	// +required
	At HookPoint `json:"at"`
	// timeout is the maximum delay. Unset: no limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.hooks: a timeout must be greater than 0"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// onTimeout is the action after the timeout. Unset: Fail.
	// +optional
	OnTimeout HookTimeout `json:"onTimeout,omitempty"`
}

// HookPoint is a point in the maintenance of a node.
//
// +kubebuilder:validation:Enum=BeforeDrain;AfterDrain;BeforeReturn
type HookPoint string

// The points.
const (
	// BeforeDrain is the point before any change to the node.
	BeforeDrain HookPoint = "BeforeDrain"
	// AfterDrain is the point between the drain of the node and the work.
	AfterDrain HookPoint = "AfterDrain"
	// BeforeReturn is the point between the work and the return of the node.
	BeforeReturn HookPoint = "BeforeReturn"
)

// HookTimeout is the action after the timeout of a hook.
//
// +kubebuilder:validation:Enum=Fail;Proceed
type HookTimeout string

// The actions.
const (
	// HookFails lets the node fail.
	HookFails HookTimeout = "Fail"
	// HookProceeds lets the node proceed.
	HookProceeds HookTimeout = "Proceed"
)

// MaintenanceWork defines the work on a drained node.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Job') == has(self.podTemplate)",message="spec.work.podTemplate is required with type Job, and not allowed otherwise",fieldPath=".podTemplate"
// +kubebuilder:validation:XValidation:rule="self.type == 'Job' || !has(self.backoffLimit)",message="spec.work.backoffLimit is for type Job",fieldPath=".backoffLimit"
type MaintenanceWork struct {
	// type of the work.
	// +required
	Type WorkType `json:"type"`
	// podTemplate is the name of a PodTemplate in the namespace of Jobs: Slipway's own with the suffix -jobs. The controller creates
	// the Job of each node from it. Its pod runs on the node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	PodTemplate string `json:"podTemplate,omitempty"`
	// timeout is the time limit for the work on a node. After it, the node has failed. Unset: no
	// limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="spec.work.timeout must be greater than 0"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// backoffLimit is the permitted number of failures of the Job's pods: a pod that reboots its
	// node fails each time. Unset: the default of Jobs, which is 6.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}

// WorkType is the kind of the work.
//
// +kubebuilder:validation:Enum=None;Manual;Job
type WorkType string

// The kinds of work.
const (
	// WorkNone means that there is no work. A drained node returns.
	WorkNone WorkType = "None"
	// WorkManual means that a user does the work, and reports its completion with kubectl slipway
	// done NODE.
	WorkManual WorkType = "Manual"
	// WorkJob means that a Job does the work.
	WorkJob WorkType = "Job"
)
