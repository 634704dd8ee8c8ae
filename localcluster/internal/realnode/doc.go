// SPDX-License-Identifier: Apache-2.0

// Package realnode makes this machine a node of a cluster: a real kubelet, containerd
// and runc, with pods that are processes in namespaces of their own.
//
//	Missing ─▶ what this machine lacks for it
//	Prepare ─▶ files, a cgroup, an address ─▶ Containerd, Kubelet: components to start
//	Load    ─▶ images into containerd
//	Clean   ─▶ nothing is left: containers, mounts, interfaces, cgroups, files
//
// All of a node is below its directory, its cgroup and its network of 256 addresses,
// so that Clean finds it again whatever happened to the processes. It starts and stops
// no process of the node itself: package cluster does. What the kubelet and containerd
// write elsewhere, whatever they are told, is in leftovers.go.
package realnode
