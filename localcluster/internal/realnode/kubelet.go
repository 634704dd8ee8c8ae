// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
)

func (n Node) kubeletConfig() string { return n.path("kubelet.json") }

func (n Node) kubeconfig() string { return n.path("kubeconfig") }

func (n Node) kubelet() component.Component {
	return component.Component{
		Name: Kubelet + "@" + n.Name, Program: n.Recorded.Kubelet,
		Args: []string{
			"--config=" + n.kubeletConfig(),
			"--kubeconfig=" + n.kubeconfig(),
			"--root-dir=" + n.kubeletRoot(),
			"--cert-dir=" + n.path("kubelet-pki"),
			"--hostname-override=" + n.Name,
			"--node-ip=" + n.Address(),
			"--node-labels=topology.kubernetes.io/region=local,topology.kubernetes.io/zone=zone-a",
		},
		Health: component.Health{URL: "http://127.0.0.1:" + n.port(healthPort(n.Name)) + "/healthz"},
	}
}

func (n Node) port(name string) string { return strconv.Itoa(n.Settings.Ports[name]) }

// kubeletSettings are those of an ordinary node, but for three things: it works
// with old cgroups and in a container, it never evicts a pod for a full disk
// or removes an image, which could not be pulled again, and all of its files that can
// be moved are in the node's directory.
func (n Node) kubeletSettings() ([]byte, error) {
	type object = map[string]any
	settings := object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",

		"address":            n.Address(),
		"port":               n.Settings.Ports[Kubelet+"@"+n.Name],
		"healthzBindAddress": "127.0.0.1",
		"healthzPort":        n.Settings.Ports[healthPort(n.Name)],
		"tlsCertFile":        n.cluster().Cert(n.certificate(serving)),
		"tlsPrivateKeyFile":  n.cluster().Key(n.certificate(serving)),
		"authentication": object{
			"anonymous": object{"enabled": false},
			"webhook":   object{"enabled": true},
			"x509":      object{"clientCAFile": component.AuthorityFile(n.cluster())},
		},
		"authorization": object{"mode": "Webhook"},

		"containerRuntimeEndpoint": "unix://" + n.Socket(),
		"staticPodPath":            n.Manifests(),
		"podLogsDir":               n.PodLogs(),
		"volumePluginDir":          n.path("volume-plugins"),
		"resolvConf":               n.path("resolv.conf"),
		"clusterDomain":            "cluster.local",
		"clusterDNS":               []string{"10.96.0.10"}, // nobody answers there

		"failCgroupV1":           false,
		"cgroupDriver":           "cgroupfs",
		"cgroupRoot":             "/" + n.Recorded.Cgroup,
		"enforceNodeAllocatable": []string{},
		"failSwapOn":             false,
		"makeIPTablesUtilChains": false,

		"evictionHard": object{
			"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%",
		},
		"imageGCHighThresholdPercent": 100,
		"imageGCLowThresholdPercent":  99,
	}
	if gates := n.featureGates(); len(gates) > 0 {
		settings["featureGates"] = gates
	}
	content, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describe the kubelet of node %s: %w", n.Name, err)
	}
	return append(content, '\n'), nil
}

// featureGates are the cluster's.
func (n Node) featureGates() map[string]bool {
	gates := map[string]bool{}
	for name, value := range n.Settings.Config.FeatureGates {
		gates[name] = value == "true"
	}
	return gates
}
