// SPDX-License-Identifier: Apache-2.0

// Package parameters reads the parameters of an event that drains a node.
//
//	spec.parameters (DrainParameters) ──▶ drain.Request
//
// The driver that drains and the command that predicts a drain both use it, so that they agree. It is pure, and has no
// defaults.
package parameters
