// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// The programs of a node. Its components are called by program and node:
// kubelet@real-1.
const (
	Containerd = "containerd"
	Kubelet    = "kubelet"
)

// Node is a real node: where its files are and what it is given.
type Node struct {
	Name string
	// Settings are those of the cluster.
	Settings component.Settings
	// Recorded is what the cluster's state says of it.
	Recorded state.Node
}

// Components are the names of the node's components, in the order in which they
// need each other.
func (n Node) Components() []string {
	return []string{Containerd + "@" + n.Name, Kubelet + "@" + n.Name}
}

// SplitComponent returns program and node of the name of a node's component, or false
// if it is none.
func SplitComponent(name string) (program, node string, isNode bool) { return strings.Cut(name, "@") }

// PortNames are the keys of the cluster's ports that the node listens on.
func PortNames(node string) []string {
	return []string{Kubelet + "@" + node, healthPort(node)}
}

func healthPort(node string) string { return "kubelet-health@" + node }

// Component returns one of the node's programs, ready to be started.
func (n Node) Component(program string) (component.Component, bool) {
	switch program {
	case Containerd:
		return n.containerd(), true
	case Kubelet:
		return n.kubelet(), true
	}
	return component.Component{}, false
}

func (n Node) cluster() layout.Dir { return n.Settings.Dir }

func (n Node) path(elements ...string) string {
	return filepath.Join(append([]string{n.cluster().Node(n.Name)}, elements...)...)
}

// Socket is where containerd listens.
func (n Node) Socket() string { return n.path("containerd.sock") }

// Manifests is the directory of static pods.
func (n Node) Manifests() string { return n.path("manifests") }

// PodLogs is the directory of the logs of containers.
func (n Node) PodLogs() string { return n.path("pod-logs") }

func (n Node) kubeletRoot() string { return n.path("kubelet") }

// certificate is the name of the kubelet's certificates in the cluster's directory of
// them.
func (n Node) certificate(use string) string { return "node-" + n.Name + "-" + use }

// Address is that of the node.
func (n Node) Address() string { return n.Recorded.Network + ".1" }

// gateway is the machine's end of each pod's network.
func (n Node) gateway() string { return n.Recorded.Network + ".254" }

var errLongPath = errors.New("the path of the cluster's directory is too long for the sockets of a node: choose a shorter --dir, or a shorter name")

// checkPaths refuses what would only fail later, and worse: the path of a unix socket
// has at most 107 bytes.
func (n Node) checkPaths() error {
	const most = 107
	longest := filepath.Join(n.kubeletRoot(), "pod-resources", "kubelet.sock")
	if len(longest) > most {
		return fmt.Errorf("%s: %w", longest, errLongPath)
	}
	return nil
}
