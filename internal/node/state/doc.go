// SPDX-License-Identifier: Apache-2.0

// Package state is the only writer of Nodes: the cordon and whom it belongs to,
// the conditions, and the annotations.
//
//	agent: conditions, API home ──┐
//	drain driver: cordon, return ─┼─▶ a patch of the Node, as the node; the controller: as itself
//	controller: for dead agents ──┘
//
// An annotation on the Node lists who cordoned it for which event, since when, and
// whether it was unschedulable before: so that returning undoes our cordon, and only
// ours. What a patch makes of the Node is computed by pure functions; a Node that
// changed meanwhile is read again. It decides nothing else.
package state
