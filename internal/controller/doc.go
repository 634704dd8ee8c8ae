// SPDX-License-Identifier: Apache-2.0

// Package controller wires the controller process: leader election, caches, health, and
// the controllers of all areas.
//
//	Run ─▶ manager (caches, leader election) ─▶ wiring: lifecycle/central, node, maintenance, eviction
//
// Of two processes the leader works; the other one has its caches filled and waits.
// Everything is done as the process itself. It decides nothing.
package controller
