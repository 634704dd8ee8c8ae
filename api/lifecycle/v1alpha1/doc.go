// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines the two kinds of Specialized Lifecycle Management
// (SLM, KEP-5683): a LifecycleTransition declares that a driver can bring nodes
// from one state to another, and a LifecycleEvent requests this for one node.
//
//	LifecycleTransition  (what, where, which driver)   ◀── by name ──┐
//	LifecycleEvent.spec  (on this node)  ── transitionName ──────────┘
//	LifecycleEvent.status (claimer, progress, blockers, outcome)
//
// One of two API groups ("homes") serves the kinds: lifecycle.k8s.io if the API
// server does not serve that group itself, and slm.slipway.dev if it does. The
// types do not differ; [AddToScheme] takes the group. Fields beyond the KEP are
// optional additions of Slipway, and their comments state this.
//
// +kubebuilder:object:generate=true
// +groupName=lifecycle.k8s.io
package v1alpha1
