// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds what is Slipway's own: the parameters of a drain.
//
// +kubebuilder:object:generate=true
// +groupName=slipway.dev
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion of Slipway's own kinds.
var GroupVersion = schema.GroupVersion{Group: "slipway.dev", Version: "v1alpha1"}
