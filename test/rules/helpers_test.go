// SPDX-License-Identifier: Apache-2.0

package rules

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/test/harness"
)

// labelled is a change of a pod: its label chooses its behavior.
func labelled(behavior string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[drain.BehaviorLabel] = behavior }
}

// onNodes is a change of a rule: it is for the nodes of a group.
func onNodes(group string) func(*slipwayv1alpha1.DrainRuleSpec) {
	return func(s *slipwayv1alpha1.DrainRuleSpec) {
		s.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{harness.GroupLabel: group}}
	}
}

// inNamespaces is a change of a rule in Slipway's own namespace: it is for namespaces
// with these labels.
func inNamespaces(labels map[string]string) func(*slipwayv1alpha1.DrainRuleSpec) {
	return func(s *slipwayv1alpha1.DrainRuleSpec) {
		s.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
}
