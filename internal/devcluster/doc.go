// SPDX-License-Identifier: Apache-2.0

// Package devcluster puts Slipway onto a local control plane, for demos and tests.
//
//	bin/localcluster (a process) ── facts ──▶ Cluster ── Install: CRDs, RBAC, admission, transitions
//	                                             └───── agents, as the processes of pods
//
// The launcher, in a separate module, runs the control plane. This package is never
// installed on a cluster.
package devcluster
