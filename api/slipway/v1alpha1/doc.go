// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines Slipway's own kinds for drains and maintenances.
//
//	LifecycleEvent.spec.parameters ── DrainParameters: the pods that leave, and the escalation ────┐
//	DrainRule: how the pods of a namespace leave ──────────────────────────────────────────────────┴─▶ the drain
//
// +kubebuilder:object:generate=true
// +groupName=slipway.dev
package v1alpha1
