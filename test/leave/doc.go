// SPDX-License-Identifier: Apache-2.0

// Package leave has the tests of drains that leave pods to those who respond to Evictions, on a real control plane:
// with the API that Kubernetes 1.37 has built in, and with Slipway's CRDs of the same group. The tests play the controller
// of Evictions and the responders themselves.
package leave
