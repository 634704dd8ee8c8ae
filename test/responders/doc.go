// SPDX-License-Identifier: Apache-2.0

// Package responders tests responderkit and its example on a real control plane, with the
// evictionrequest-controller at work: on the API that Kubernetes 1.37 has built in, and on
// Slipway's CRDs of the same group. The responder has the rights that its manifest gives
// it, and no more. It runs the commands of docs/how-to/write-a-responder.md.
package responders
