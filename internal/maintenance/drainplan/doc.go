// SPDX-License-Identifier: Apache-2.0

// Package drainplan decides the targets of the drain of each node of a maintenance (KEP-4212, drain
// plans).
//
//	spec.drainPlan ── Complete ──▶ steps, in order                                      (plan.go)
//	targets ── KeptAway ──▶ the pods of DaemonSets that a node keeps away, as admission reads them
//	maintenances that drain, nodes with their targets ── Next ──▶ targets of each node, messages (next.go)
//
// A maintenance is at the first step that is not over on one of its nodes. A node gets the lowest of
// the steps that its maintenances allow, and never fewer targets than it has: if a maintenance joins a
// node whose drain exceeds its plan, it starts at the step that the node has reached.
//
// It is pure: no client, no clock, no goroutine. It knows no stages, hooks or windows.
package drainplan
