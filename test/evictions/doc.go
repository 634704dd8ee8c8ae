// SPDX-License-Identifier: Apache-2.0

// Package evictions has the tests of EvictionRequests on a real control plane, with the
// API that Kubernetes 1.37 has built in, and with Slipway's CRDs of the same group.
package evictions
