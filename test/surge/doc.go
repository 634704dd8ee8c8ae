// SPDX-License-Identifier: Apache-2.0

// Package surge has the tests of the surge responder on a real control plane, with the API
// of EvictionRequests that Kubernetes 1.37 has built in, and with Slipway's CRDs. The
// responder has the controller's own rights, and is held by its policy.
//
// That a workload had a Ready pod at each moment is read from a watch: it shows each change
// of a pod, in order, so that nothing falls between two looks.
package surge
