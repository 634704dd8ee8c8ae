// SPDX-License-Identifier: Apache-2.0

// Package controller wires the controller process: leader election, caches, health, and
// the controllers of all areas.
//
//	Run ─▶ manager (caches, leader election) ─▶ wiring: lifecycle/central, node, maintenance, eviction
//
// Only the leader works; the other processes keep their caches filled, and wait. All requests
// have the identity of the process. The package decides nothing.
package controller
