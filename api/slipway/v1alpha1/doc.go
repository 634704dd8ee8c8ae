// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds what is Slipway's own about drains and maintenances.
//
//	LifecycleEvent.spec.parameters ── DrainParameters: which pods leave, and what if they do not ──┐
//	DrainRule: how the pods of a namespace leave ──────────────────────────────────────────────────┴─▶ the drain
//
// +kubebuilder:object:generate=true
// +groupName=slipway.dev
package v1alpha1
