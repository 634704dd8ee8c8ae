// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// ours are the finalizers that agents and controller take off again.
var ours = []string{
	lifecyclev1alpha1.ClaimProtectionFinalizer, lifecyclev1alpha1.HoldFinalizer, slipwayv1alpha1.MaintenanceFinalizer, slipwayv1alpha1.MaintenanceEventFinalizer,
}

// holders are the finalizers of others: who holds an event wants to see how it has ended.
func holders(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return slices.Contains(ours, f) })
}

// withoutOurs are the finalizers without our own, and without those whose loss was agreed to.
func withoutOurs(finalizers, agreed []string) []string {
	return slices.DeleteFunc(holders(finalizers), func(f string) bool { return slices.Contains(agreed, f) })
}
