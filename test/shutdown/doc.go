// SPDX-License-Identifier: Apache-2.0

// Package shutdown has the tests of machines that are shut down, on a real control plane: with
// slipway-host, its keeper, the agent and the controller as processes, and a logind that the
// test plays on a D-Bus of its own. All of them but logind are killed in the middle.
package shutdown
