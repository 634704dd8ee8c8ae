// SPDX-License-Identifier: Apache-2.0

// Package localcluster carries the source of the control plane binary inside the launcher: the launcher is complete
// by itself and builds the control plane wherever it runs, if a Go toolchain is installed.
package localcluster

import "embed"

// ControlPlane is the module that `go build ./cmd/controlplane` is run in.
//
//go:embed go.mod go.sum cmd/controlplane/main.go cmd/controlplane/kubernetes.go cmd/controlplane/others.go
var ControlPlane embed.FS

// Kubernetes is the part of it that is built of another version of Kubernetes, with a go.mod of that version.
//
//go:embed cmd/controlplane/main.go cmd/controlplane/kubernetes.go
var Kubernetes embed.FS

// Node is the same module, with the programs that a real node needs.
//
//go:embed go.mod go.sum cmd/kubelet/main.go cmd/pause/main.go
var Node embed.FS
