// SPDX-License-Identifier: Apache-2.0

// Package requester has the tests of how the controller asks for the evictions of pods
// that drains leave to responders, on a real control plane, with the EvictionRequests of
// Kubernetes 1.37 and with Slipway's CRDs of the same group. The tests are the agents.
package requester
