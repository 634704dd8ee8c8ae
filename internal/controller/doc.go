// SPDX-License-Identifier: Apache-2.0

// Package controller is the controller's process: what no node can do for itself, and in
// central mode the loop of all nodes.
//
//	watches (events, transitions, Nodes, agents' pods) ──┬─▶ overseer: gather ─▶ oversight.Next ─▶ perform one step
//	                                                     └─▶ fleet (central mode): an agent.Agent for each node with events
//	        ▲                                                    │ gRPC, a socket of this process
//	        │                                                    ▼
//	        └── API server ◀── record, nodestate, observe ◀── drain driver, one for all nodes
//
// Of two processes the leader works; the other has its caches filled and waits. The
// overseer works on one node at a time, so that guards are decided one after another.
// Before it ends an event, or removes a gate, it decides again on what the API server
// has. Everything is done as the process itself.
//
// It decides nothing, and of a node without events it keeps nothing but the Node.
package controller
