// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
