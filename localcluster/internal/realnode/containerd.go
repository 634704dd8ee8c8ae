// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
)

// pauseImage is the image of the container that holds a pod's namespaces.
const pauseImage = "localcluster.local/pause:1"

// snapshotter copies files: it works on every file system, that of a container too.
const snapshotter = "native"

func (n Node) containerdConfig() string { return n.path("containerd.toml") }

func (n Node) containerd() component.Component {
	return component.Component{
		Name: Containerd + "@" + n.Name, Program: Containerd,
		Args:   []string{"--config=" + n.containerdConfig()},
		Health: component.Health{Socket: n.Socket()},
	}
}

// containerdSettings keep all that containerd and runc write in the node's directory.
//
// restrict_oom_score_adj: where root may not make a process less likely to be killed,
// as in many containers, no pod could start without it.
func (n Node) containerdSettings() string {
	const settings = `version = 2
root = %[1]q
state = %[2]q
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.overlayfs",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = %[3]q

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[4]q
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %[5]q
    conf_dir = %[6]q

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = %[7]q
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = %[8]q
        SystemdCgroup = false
`
	return fmt.Sprintf(settings, n.path("containerd"), n.path("run"), n.Socket(), pauseImage,
		pluginDir(), n.path("cni"), snapshotter, n.path("runc"))
}

// networkSettings give each pod a network namespace of its own, with one wire to this
// machine, and a way to the node's network and no further.
func (n Node) networkSettings() ([]byte, error) {
	type object = map[string]any
	subnet := n.Recorded.Network + ".0/24"
	content, err := json.MarshalIndent(object{
		"cniVersion": "0.4.0",
		"name":       "localcluster-" + n.Name,
		"plugins": []object{{
			"type":   "ptp",
			"ipMasq": false,
			"ipam": object{
				"type":    "host-local",
				"dataDir": n.path("addresses"),
				"ranges": [][]object{{{
					"subnet": subnet, "rangeStart": n.Recorded.Network + ".2", "rangeEnd": n.Recorded.Network + ".253",
					"gateway": n.gateway(),
				}}},
			},
		}},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describe the network of node %s: %w", n.Name, err)
	}
	return append(content, '\n'), nil
}
