// SPDX-License-Identifier: Apache-2.0

// Package testbed runs everything that the benchmarks measure: a control plane with
// simulated nodes, workloads on these nodes, and Slipway's programs as processes.
//
//	Open: control plane, nodes, manifests ─▶ Create: namespaces, pods, PDBs, all ready
//	      ─▶ StartAgents, StartController ─▶ Transition, Maintain ─▶ Requests (audit log)
//
// Simulated pods terminate at the time in their annotation: gone.yaml is a kwok stage
// beside the usual ones, which terminate a pod at a random moment.
package testbed
