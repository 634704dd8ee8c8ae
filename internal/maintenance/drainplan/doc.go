// SPDX-License-Identifier: Apache-2.0

// Package drainplan decides how far the drain of each node of a maintenance goes
// (KEP-4212, drain plans).
//
//	spec.drainPlan ── Complete ──▶ steps, in order
//	targets ── KeptAway ──▶ which pods of DaemonSets a node keeps away, as a text that admission reads
//	maintenances that drain, nodes with their targets ── Next ──▶ targets for each node, what limits whom
//
// A maintenance is at the first step that is not over on one of its nodes. A node goes as
// far as the maintenance that asks for the least, and never back: a maintenance that comes
// later and asks for less is taken to be where the node is.
//
// It is pure: no client, no clock, no goroutine. It knows no stages, hooks or windows.
package drainplan
