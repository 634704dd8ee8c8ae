// SPDX-License-Identifier: Apache-2.0

// Package realnode tests drains where a pod is a process: on a real kubelet with
// containerd and runc, beside the simulated nodes of the other tests.
//
//	this machine ─ localcluster node add ─▶ node real-1
//	  workload    a program that says in a file when it was started, asked to end, ended
//	  node-agent  the DaemonSet that people install, with an image that is built here
//	  kubectl slipway drain ─▶ files, containerd and the API say what became of each pod
//
// It takes root and packages (localcluster node check says which); where those are not,
// the tests are skipped and say so. What simulated nodes can show is not tested here.
package realnode
