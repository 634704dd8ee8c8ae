// SPDX-License-Identifier: Apache-2.0

package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// inNamespaces is a change of a rule in Slipway's own namespace: it is for namespaces
// with these labels.
func inNamespaces(labels map[string]string) func(*slipwayv1alpha1.DrainRuleSpec) {
	return func(s *slipwayv1alpha1.DrainRuleSpec) {
		s.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
}
