// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Facts are the objects around one node. Any of them may be missing: Unread names the kinds that
// could not be read, and the reasons. Explain does not change them.
type Facts struct {
	NodeName string `json:"nodeName"`
	// Node is nil if there is no such Node, or if it could not be read.
	Node *corev1.Node `json:"node,omitempty"`
	// Events are the LifecycleEvents of the node, in any order.
	Events []lifecyclev1alpha1.LifecycleEvent `json:"events,omitempty"`
	// Transitions are all LifecycleTransitions.
	Transitions []lifecyclev1alpha1.LifecycleTransition `json:"transitions,omitempty"`
	// Pods are the pods of the node.
	Pods []corev1.Pod `json:"pods,omitempty"`
	// Budgets are the PodDisruptionBudgets that blockers name.
	Budgets []Budget `json:"budgets,omitempty"`
	// Rules are the DrainRules that blockers name.
	Rules []slipwayv1alpha1.DrainRule `json:"rules,omitempty"`
	// Namespaces are the namespaces that blockers name.
	Namespaces []corev1.Namespace `json:"namespaces,omitempty"`
	// Attachments are the VolumeAttachments of the node.
	Attachments []storagev1.VolumeAttachment `json:"attachments,omitempty"`
	// Namespace is Slipway's own. AgentPods are its agents' pods on the node; ControllerPods
	// and Lease belong to its controllers.
	Namespace      string                `json:"namespace,omitempty"`
	AgentPods      []corev1.Pod          `json:"agentPods,omitempty"`
	ControllerPods []corev1.Pod          `json:"controllerPods,omitempty"`
	Lease          *coordinationv1.Lease `json:"lease,omitempty"`
	// CoreEvents are about the node, and about its LifecycleEvents.
	CoreEvents []corev1.Event `json:"coreEvents,omitempty"`
	Unread     []Unread       `json:"unread,omitempty"`
}

// Budget is a PodDisruptionBudget, with the pods that it counts.
type Budget struct {
	policyv1.PodDisruptionBudget `json:",inline"`

	// Pods are selected by its selector, on all nodes.
	Pods []corev1.Pod `json:"pods,omitempty"`
}

// Kind is a kind of fact that may be unread.
type Kind string

// The kinds.
const (
	TheNode        Kind = "Node"
	Events         Kind = "LifecycleEvents"
	Transitions    Kind = "LifecycleTransitions"
	Pods           Kind = "Pods"
	Budgets        Kind = "PodDisruptionBudgets"
	BudgetPods     Kind = "Pods of budgets"
	Rules          Kind = "DrainRules"
	Namespaces     Kind = "Namespaces"
	Attachments    Kind = "VolumeAttachments"
	AgentPods      Kind = "Pods of Slipway's agent"
	ControllerPods Kind = "Pods of Slipway's controller"
	Lease          Kind = "Lease of Slipway's controller"
	CoreEvents     Kind = "core Events"
)

// Unread names a kind that could not be read.
type Unread struct {
	Kind Kind `json:"kind"`
	// Why is the answer of the server.
	Why string `json:"why"`
}

func (f Facts) unread(kind Kind) bool {
	return slices.ContainsFunc(f.Unread, func(u Unread) bool { return u.Kind == kind })
}

func (f Facts) pod(namespace, name string) *corev1.Pod {
	return find(f.Pods, func(p *corev1.Pod) bool { return p.Namespace == namespace && p.Name == name })
}

func (f Facts) budget(namespace, name string) *Budget {
	return find(f.Budgets, func(b *Budget) bool { return b.Namespace == namespace && b.Name == name })
}

func (f Facts) transition(name string) *lifecyclev1alpha1.LifecycleTransition {
	return find(f.Transitions, func(t *lifecyclev1alpha1.LifecycleTransition) bool { return t.Name == name })
}

func find[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}
