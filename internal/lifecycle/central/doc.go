// SPDX-License-Identifier: Apache-2.0

// Package central is the controller's part for the events of all nodes.
//
//	watches (events, transitions, Nodes, agents' pods) ──┬─▶ Overseer: gather ─▶ oversight.Next ─▶ perform one step
//	                                                     └─▶ Fleet (central mode): an agent.Agent for each node with events
//	        ▲                                                    │
//	        └── API server ◀── record, node/state, telemetry ◀───┘
//
// The Overseer works on one node at a time, so that guards are decided one after another.
// Before it ends an event or removes a gate, it decides again on what the API server has.
// The Fleet's drivers serve all nodes. It drops what it knows of a node with the node's
// last event.
//
// It decides nothing.
package central
