// SPDX-License-Identifier: Apache-2.0

// Package maintenance has the tests of the maintenance of many nodes on a real control
// plane.
//
//	NodeMaintenance ──▶ the controller, in central mode ──▶ nodes out, work, nodes back
//	                         └── killed, and started again       │
//	                                       audit log ◀───────────┴─▶ test/auditcheck
//
// The controller does the agents' work as well. That never more nodes were out than a
// maintenance allows, that work was done once and to empty nodes, and that nothing is left,
// is not watched but read from the audit log when the tests have ended. Each test has nodes
// of its own.
package maintenance
