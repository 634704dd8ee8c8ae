// SPDX-License-Identifier: Apache-2.0

// Package loop is shared by the controllers that work node by node: the nodes that a change wakes, the events of a
// node, and the time of the next pass after a step.
//
//	watch ─▶ NodesOf, WithEvents ─▶ queue of nodes ─▶ Reconcile: gather, decide, perform ─▶ Wait, AfterStep
//
// It decides nothing.
package loop
