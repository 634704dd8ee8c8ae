// SPDX-License-Identifier: Apache-2.0

// Command dev puts Slipway onto a local control plane, for everyone who develops or tries
// Slipway. The Makefile calls it.
//
//	up, demo ──▶ devcluster: control plane ──▶ kubectl slipway install
//	                 └── kubelets: a process for each pod of Slipway
//	demo ──▶ kubectl slipway drain, uncordon
package main
