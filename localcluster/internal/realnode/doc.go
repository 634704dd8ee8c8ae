// SPDX-License-Identifier: Apache-2.0

// Package realnode makes this machine a node of a cluster: a real kubelet, containerd and runc,
// with pods that are processes in separate namespaces.
//
//	Missing ─▶ what this machine lacks for it
//	Prepare ─▶ files, a cgroup, an address ─▶ Component: containerd and kubelet, to be started
//	Load    ─▶ images into containerd
//	Clean   ─▶ removes containers, mounts, interfaces, cgroups, files
//
// All of a node is below its directory, its cgroup and its network of 256 addresses, so Clean
// finds everything whatever happened to the processes. Package cluster starts and stops the
// node's processes. clean.go lists what the kubelet and containerd write elsewhere.
package realnode
