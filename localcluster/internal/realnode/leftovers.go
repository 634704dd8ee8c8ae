// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"os"
	"path/filepath"
	"strings"
)

// Places outside of the node's directory that no setting of its programs moves.
const (
	shimSockets   = "/run/containerd/s"               // containerd: one for each pod
	cniResults    = "/var/lib/cni/results"            // the library for networks: one file for each pod
	containerLogs = "/var/log/containers"             // the kubelet: links to logs
	devicePlugins = "/var/lib/kubelet/device-plugins" // the kubelet: a socket and a checkpoint
)

// removeLeftovers removes what the node's programs have left in those places, and then
// the places, if nothing of anybody else's is in them. What cannot be removed stays:
// it does nothing.
func (n Node) removeLeftovers() {
	bundles, _ := filepath.Glob(n.path("run", "io.containerd.runtime.v2.task", "k8s.io", "*", "address"))
	for _, path := range bundles {
		if address, err := os.ReadFile(path); err == nil {
			n.removeSocket(strings.TrimPrefix(strings.TrimSpace(string(address)), "unix://"))
		}
	}
	results, _ := filepath.Glob(filepath.Join(cniResults, "*"))
	for _, path := range results {
		// Each names the network namespace, which is in our directory.
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), n.path()+"/") {
			_ = os.Remove(path)
		}
	}
	links, _ := filepath.Glob(filepath.Join(containerLogs, "*"))
	for _, path := range links {
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, n.PodLogs()+"/") {
			_ = os.Remove(path)
		}
	}
	// There is one kubelet on a machine: these were ours.
	for _, name := range []string{"kubelet.sock", "kubelet_internal_checkpoint", "DEPRECATION"} {
		_ = os.Remove(filepath.Join(devicePlugins, name))
	}
	for _, dir := range []string{
		shimSockets, filepath.Dir(shimSockets), cniResults, filepath.Dir(cniResults), containerLogs,
		devicePlugins, filepath.Dir(devicePlugins),
	} {
		_ = os.Remove(dir) // fails for one that is not empty
	}
}

func (n Node) removeSocket(path string) {
	if filepath.Dir(path) == shimSockets {
		_ = os.Remove(path)
	}
}
