// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of Slipway's own kinds. They have one home, whichever the lifecycle
// kinds have.
var GroupVersion = schema.GroupVersion{Group: "slipway.dev", Version: "v1alpha1"}

// AddToScheme registers DrainRule and NodeMaintenance. DrainParameters is never an object of its own.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &DrainRule{}, &DrainRuleList{}, &NodeMaintenance{}, &NodeMaintenanceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
