// SPDX-License-Identifier: Apache-2.0

// Package central is the controller's part for the events of all nodes.
//
//	watches (events, transitions, Nodes, agents' pods) ──┬─▶ Overseer: gather ─▶ oversight.Next ─▶ perform one step
//	                                                     └─▶ Fleet (central drivers): an agent.Agent for each node with events
//	        ▲                                                    │
//	        └── API server ◀── record, node/state, telemetry ◀───┘
//
// The Overseer works on one node at a time, so that it decides about guards one event after
// another. Before it ends an event or removes a gate, it decides again on the state of the
// API server. The Marker marks the transitions of central drivers. The Fleet's drivers serve all nodes. The Fleet drops the agent of a node after
// the node's last event.
//
// The package decides nothing itself.
package central
