// SPDX-License-Identifier: Apache-2.0

package component

// KwokAnnotation, with KwokValue, makes a node one that kwok simulates. Nodes
// without it are left to whoever runs them, for instance a real kubelet.
const (
	KwokAnnotation = "kwok.x-k8s.io/node"
	KwokValue      = "fake"
)

func buildKwok(s Settings) Component {
	args := []string{
		"--kubeconfig=" + s.Dir.ComponentKubeconfig(Kwok),
		"--manage-nodes-with-annotation-selector=" + KwokAnnotation + "=" + KwokValue,
		"--node-lease-duration-seconds=40", // as the kubelet's
		"--cidr=10.244.0.1/16",             // addresses for as many pods as anyone will start
		"--server-address=" + s.url("http", Kwok)[len("http://"):],
	}
	for _, stage := range s.Stages {
		args = append(args, "--config="+stage)
	}
	return Component{Args: args, Health: Health{URL: s.url("http", Kwok) + "/healthz"}}
}
