// SPDX-License-Identifier: Apache-2.0

// Package state is the only writer of Nodes: the cordon and whom it belongs to,
// the conditions, and the annotations.
//
//	agent: conditions, API group, drivers ────┐
//	drain driver: cordon, return, static pods ┼─▶ a patch of the Node, as the node
//	slipway-host: shutdown, static pods ──────┘
//	controller: shutdowns, maintenances, leases, dead agents ─▶ a patch, as itself
//
// cordon.go computes the cordon and its annotation, writer.go sends the patch; the other files
// have the annotations after which they are named.
//
// An annotation on the Node lists who cordoned it for which event, since when, and
// whether it was unschedulable before: so that returning undoes our cordon, and only
// ours. What a patch makes of the Node is computed by pure functions; a Node that
// changed meanwhile is read again. It decides nothing else.
package state
