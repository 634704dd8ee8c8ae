// SPDX-License-Identifier: Apache-2.0

// Package harness lets tests run Slipway's real processes against a real control
// plane.
//
//	Shared ─▶ one cluster for the test binary ─▶ Node: a simulated node of the test's own
//	                                         ├─▶ Agent, Driver: processes with the pod's token
//	                                         ├─▶ Controller: a process with its own account's token
//	                                         ├─▶ StandIn, MuteDriver: drivers that the test plays
//	                                         ├─▶ History, Await…: what a watch has shown
//	                                         ├─▶ Writes, Evictions: what the audit log says
//	                                         └─▶ at the end of the test: test/auditcheck
//
// Each test of a node ends with a check of the audit log: were the promises kept? What
// a test breaks on purpose, it says (Node.Expect), and why.
//
// Tests wait for what a watch shows, never for time. Each test has nodes of its own,
// so that tests run side by side on one cluster. A test that disturbs the control
// plane takes a cluster of its own (Own).
package harness
