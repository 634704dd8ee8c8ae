// SPDX-License-Identifier: Apache-2.0

// Package harness lets tests run Slipway's real processes against a real control
// plane.
//
//	Shared ─▶ one cluster for the test binary ─▶ Node: a simulated node of one test
//	                                         ├─▶ Agent, Driver: processes with the pod's token
//	                                         ├─▶ Controller: a process with its own account's token
//	                                         ├─▶ History, Await…: the record of a watch
//	                                         ├─▶ Writes, Evictions: requests in the audit log
//	                                         └─▶ at the end of the test: test/auditcheck
//
// Each test of a node ends with a check of the invariants in the audit log. A test that violates one on purpose
// declares it, with the reason (Node.Expect).
//
// Tests wait for changes that a watch shows, never for time. Each test has separate nodes, so that tests run side by
// side on one cluster. A test that disturbs the control plane takes a separate cluster (Own).
package harness
