// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/files"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// The programs of a node. The name of a component joins the names of its program and node: kubelet@real-1.
const (
	Containerd = "containerd"
	Kubelet    = "kubelet"
)

// Node is a real node: its files and settings.
type Node struct {
	state.Node

	// Settings are the cluster's.
	Settings component.Settings
}

// Components are the names of the node's components, in the order in which they start.
func (n Node) Components() []string {
	return []string{Containerd + "@" + n.Name, Kubelet + "@" + n.Name}
}

// SplitComponent splits the name of a node's component into program and node. It returns false
// for the name of another component.
func SplitComponent(name string) (program, node string, isNode bool) { return strings.Cut(name, "@") }

// PortNames are the keys of the cluster's ports that the node listens on.
func PortNames(node string) []string { return []string{Kubelet + "@" + node, healthPort(node)} }

func healthPort(node string) string { return "kubelet-health@" + node }

// Component returns one of the node's programs, ready to be started.
func (n Node) Component(program string) (component.Component, bool) {
	name := program + "@" + n.Name
	switch program {
	case Containerd:
		return component.Component{
			Name: name, Program: Containerd, Args: []string{"--config=" + n.path("containerd.toml")},
			Health: component.Health{Socket: n.Socket()},
		}, true
	case Kubelet:
		return component.Component{
			Name: name, Program: n.Kubelet,
			Args: []string{
				"--config=" + n.path("kubelet.json"),
				"--kubeconfig=" + n.path("kubeconfig"),
				"--root-dir=" + n.path("kubelet"),
				"--cert-dir=" + n.path("kubelet-pki"),
				"--hostname-override=" + n.Name,
				"--node-ip=" + n.Address(),
				"--node-labels=topology.kubernetes.io/region=local,topology.kubernetes.io/zone=zone-a",
			},
			Health: component.Health{URL: "http://127.0.0.1:" + strconv.Itoa(n.Settings.Ports[healthPort(n.Name)]) + "/healthz"},
		}, true
	}
	return component.Component{}, false
}

func (n Node) dir() state.Dir { return n.Settings.Dir }

func (n Node) path(elements ...string) string {
	return filepath.Join(append([]string{n.dir().Node(n.Name)}, elements...)...)
}

// Socket is the address of containerd.
func (n Node) Socket() string { return n.path("containerd.sock") }

// Manifests is the directory of static pods.
func (n Node) Manifests() string { return n.path("manifests") }

// PodLogs is the directory of the containers' logs.
func (n Node) PodLogs() string { return n.path("pod-logs") }

// network is the first three bytes of the addresses of the node and its pods. It is reserved for tests (RFC 2544), so
// it hides no real network.
const network = "198.18.0"

// Address is the node's address.
func (n Node) Address() string { return network + ".1" }

// gateway is the machine's end of each pod's network.
func (n Node) gateway() string { return network + ".254" }

var errLongPath = errors.New("the path of the cluster's directory is too long for the sockets of a node: choose a shorter --dir, or a shorter name")

// checkPaths refuses a path that would fail later with a worse message: the path of a Unix
// socket has at most 107 bytes.
func (n Node) checkPaths() error {
	const most = 107
	longest := n.path("kubelet", "pod-resources", "kubelet.sock")
	if len(longest) > most {
		return fmt.Errorf("%s: %w", longest, errLongPath)
	}
	return nil
}

// Prepare makes everything that the node's programs need before they start. It may run again.
// kubelet is the process of the node's own kubelet, if that runs.
func (n Node) Prepare(ctx context.Context, kubelet int) error {
	if err := Missing(); err != nil {
		return err
	}
	if err := checkAlone(kubelet); err != nil {
		return err
	}
	if err := n.checkPaths(); err != nil {
		return err
	}
	for _, dir := range []string{n.path("cni"), n.path("volume-plugins"), n.Manifests(), n.PodLogs(), n.path("kubelet")} {
		if err := os.MkdirAll(dir, files.PrivateDir); err != nil {
			return fmt.Errorf("make a directory of node %s: %w", n.Name, err)
		}
	}
	for name, content := range map[string][]byte{
		"containerd.toml": []byte(n.containerdSettings()), "resolv.conf": nil,
		"cni/10-pods.conflist": encode(n.networkSettings()), "kubelet.json": encode(n.kubeletSettings()),
	} {
		if err := files.Replace(n.path(name), content); err != nil {
			return err
		}
	}
	if err := n.writeIdentity(); err != nil {
		return err
	}
	if err := n.makeCgroup(); err != nil {
		return err
	}
	return n.addAddress(ctx)
}

// identities are the kubelet's certificates, as a client and as a server. The Node authorizer
// recognizes a kubelet by its user and group.
func (n Node) identities() (client, server component.Identity) {
	user := "system:node:" + n.Name
	client = component.Identity{
		Name: "node-" + n.Name + "-client", Authority: component.Authority, User: user, Groups: []string{"system:nodes"},
	}
	server = component.Identity{
		Name: "node-" + n.Name + "-serving", Authority: component.Authority, User: user,
		Hosts: []string{n.Name}, Addresses: []net.IP{net.ParseIP(n.Address())},
	}
	return client, server
}

func (n Node) writeIdentity() error {
	if _, err := os.Stat(n.path("kubeconfig")); err == nil {
		return nil
	}
	client, server := n.identities()
	if err := errors.Join(client.Write(n.dir()), server.Write(n.dir())); err != nil {
		return err
	}
	return component.WriteKubeconfig(n.path("kubeconfig"), client.User, "", &rest.Config{
		Host: n.Settings.Server(), TLSClientConfig: component.Access(n.dir(), component.Authority, client.Name),
	})
}

// pauseImage is the image of the container that holds a pod's namespaces.
const pauseImage = "localcluster.local/pause:1"

// snapshotter copies files: it works on every file system, including the file system of a container.
const snapshotter = "native"

// containerdSettings keep all that containerd and runc write in the node's directory.
//
// restrict_oom_score_adj: where root may not make a process less likely to be killed, as in
// many containers, it lets pods start.
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

type object = map[string]any

// encode panics for a value that is no JSON: all values are made in this file.
func encode(value any) []byte {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(content, '\n')
}

// networkSettings give each pod a separate network namespace, with one wire to this machine, and a route to the
// node's network and no further.
func (n Node) networkSettings() object {
	return object{
		"cniVersion": "0.4.0",
		"name":       "localcluster-" + n.Name,
		"plugins": []object{{
			"type":   "ptp",
			"ipMasq": false,
			"ipam": object{
				"type":    "host-local",
				"dataDir": n.path("addresses"),
				"ranges": [][]object{{{
					"subnet": network + ".0/24", "rangeStart": network + ".2", "rangeEnd": network + ".253",
					"gateway": n.gateway(),
				}}},
			},
		}},
	}
}

// kubeletSettings configure an ordinary node, with three differences: the kubelet works with old cgroups and in a
// container; it never evicts a pod for a full disk or removes an image, which could not be pulled again; all movable
// files are in the node's directory.
func (n Node) kubeletSettings() object {
	_, server := n.identities()
	gates := map[string]bool{}
	for name, value := range n.Settings.Config.FeatureGates {
		gates[name] = value == "true"
	}
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",

		"address":            n.Address(),
		"port":               n.Settings.Ports[Kubelet+"@"+n.Name],
		"healthzBindAddress": "127.0.0.1",
		"healthzPort":        n.Settings.Ports[healthPort(n.Name)],
		"tlsCertFile":        n.dir().Cert(server.Name),
		"tlsPrivateKeyFile":  n.dir().Key(server.Name),
		"authentication": object{
			"anonymous": object{"enabled": false},
			"webhook":   object{"enabled": true},
			"x509":      object{"clientCAFile": n.dir().Cert(component.Authority)},
		},
		"authorization": object{"mode": "Webhook"},
		"featureGates":  gates,

		"containerRuntimeEndpoint": "unix://" + n.Socket(),
		"staticPodPath":            n.Manifests(),
		"podLogsDir":               n.PodLogs(),
		"volumePluginDir":          n.path("volume-plugins"),
		"resolvConf":               n.path("resolv.conf"),
		"clusterDomain":            "cluster.local",
		"clusterDNS":               []string{"10.96.0.10"}, // no DNS server listens there

		"failCgroupV1":           false,
		"cgroupDriver":           "cgroupfs",
		"cgroupRoot":             "/" + n.Cgroup,
		"enforceNodeAllocatable": []string{},
		"failSwapOn":             false,
		"makeIPTablesUtilChains": false,

		"evictionHard": object{
			"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%",
		},
		"imageGCHighThresholdPercent": 100,
		"imageGCLowThresholdPercent":  99,
	}
}
