// SPDX-License-Identifier: Apache-2.0

// Package loop has what the controllers share that work node by node: which nodes a change
// wakes, how a node's events are read, and when to look again after a step.
//
//	watch ─▶ NodesOf, WithEvents ─▶ queue of nodes ─▶ Reconcile: gather, decide, perform ─▶ Wait, AfterStep
//
// It decides nothing.
package loop
