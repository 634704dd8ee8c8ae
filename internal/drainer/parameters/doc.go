// SPDX-License-Identifier: Apache-2.0

// Package parameters reads what an event asks of a drain.
//
//	spec.parameters (DrainParameters) ──▶ drain.Request
//
// The driver that drains and the command that says beforehand what a drain would do both
// read by it, so that they mean the same. It is pure, and has no defaults of its own.
package parameters
