// SPDX-License-Identifier: Apache-2.0

// Package devcluster puts Slipway onto a local control plane, for demos and tests.
//
//	bin/localcluster (a process) ── facts ──▶ Cluster ── Install: CRDs, RBAC, admission, transitions
//	                                             └───── agents, as the processes of pods
//
// The control plane is the launcher's business, in a module of its own. This package
// is never installed on a cluster.
package devcluster
