// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of Slipway's own kinds. They have one group,
// independent of the group of the lifecycle kinds.
var GroupVersion = schema.GroupVersion{Group: "slipway.dev", Version: "v1alpha1"}

// AddToScheme registers DrainRule, Freeze, NodeAvailabilityBudget, NodeHold and NodeMaintenance. DrainParameters is not a separate API
// object.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &DrainRule{}, &DrainRuleList{}, &Freeze{}, &FreezeList{}, &NodeAvailabilityBudget{}, &NodeAvailabilityBudgetList{}, &NodeHold{}, &NodeHoldList{}, &NodeMaintenance{}, &NodeMaintenanceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
