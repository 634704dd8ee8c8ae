// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// holders are the finalizers of others: who holds an event wants to see how it has ended.
func holders(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == lifecyclev1alpha1.ClaimProtectionFinalizer })
}

// withoutOurs are the finalizers without our own, and without those whose loss was agreed to.
func withoutOurs(finalizers, agreed []string) []string {
	return slices.DeleteFunc(holders(finalizers), func(f string) bool { return slices.Contains(agreed, f) })
}
