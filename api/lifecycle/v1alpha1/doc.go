// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the two kinds of Specialized Lifecycle Management
// (SLM, KEP-5683): a LifecycleTransition says that a driver can bring nodes from
// one state to another, a LifecycleEvent asks for that on one node.
//
//	LifecycleTransition  (what can be done, where, by whom)   ◀── by name ──┐
//	LifecycleEvent.spec  (do it on this node)  ── transitionName ───────────┘
//	LifecycleEvent.status (who claimed it, how far it is, what blocks it, how it ended)
//
// The kinds are served in one of two API groups ("homes"): lifecycle.k8s.io where
// the API server does not serve that group itself, slm.slipway.dev where it does.
// The types are the same; [AddToScheme] takes the group. Fields that the KEP does
// not have are optional additions of Slipway and say so.
//
// +kubebuilder:object:generate=true
// +groupName=lifecycle.k8s.io
package v1alpha1
