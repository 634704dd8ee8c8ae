// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DrainParameters is what spec.parameters of a LifecycleEvent holds when its driver
// is the drain driver. It is never an object of its own.
type DrainParameters struct {
	// apiVersion slipway.dev/v1alpha1 and kind DrainParameters are required.
	metav1.TypeMeta `json:",inline"`

	// gracePeriodSeconds is how long each pod may take to end. Unset: what the driver
	// was started with, which is the pod's own by default.
	// +optional
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`
}
