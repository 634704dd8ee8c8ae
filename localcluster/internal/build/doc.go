// SPDX-License-Identifier: Apache-2.0

// Package build compiles the control plane once and keeps the binary in a cache directory, under
// a key that changes when its source does. The kubelet of real nodes is a separate entry,
// which is made for the first real node.
//
//	CACHE/KEY/src/                go.mod, go.sum and source, as compiled
//	CACHE/KEY/bin/controlplane    the binary
//	CACHE/KEY/bin/etcd …          links to it, one for each component
//	CACHE/KEY/stages/             the files that tell kwok how nodes and pods behave
//	CACHE/KEY/complete            written last
//
//	CACHE/OTHER/bin/kubelet       the kubelet
//	CACHE/OTHER/bin/pause         the program that holds a pod's namespaces
package build
