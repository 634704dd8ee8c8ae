// SPDX-License-Identifier: Apache-2.0

// Package state is the only writer of Nodes: the cordon and its owners, the conditions, and the annotations.
//
//	agent: conditions, API group, drivers ────┐
//	drain driver: cordon, return, static pods ┼─▶ a patch of the Node, as the node
//	slipway-host: shutdown, static pods ──────┘
//	controller: shutdowns, maintenances, leases, dead agents ─▶ a patch, as itself
//
// cordon.go computes the cordon and its annotation, annotations.go the other annotations and labels; writer.go
// sends the patches.
//
// An annotation on the Node lists the events for which it is cordoned, with the times, and whether the Node was
// unschedulable before. So a return undoes Slipway's cordon, and no other one. Pure functions compute the patches;
// a Node that has changed meanwhile is read again. It makes no other decision.
package state
