// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Selectors of the pods, and of their Deployment and DaemonSet, in any installation.
const (
	ControllerSelector = "app.kubernetes.io/name=slipway,app.kubernetes.io/component=controller"
	AgentSelector      = "app.kubernetes.io/name=slipway,app.kubernetes.io/component=node-agent"
)

// Installed is what workloads of a cluster say about the installation.
type Installed struct {
	Namespace string `json:"namespace"`
	// Image is the controller's. AgentImage is set where the agents have another one, as in
	// the middle of an upgrade.
	Image      string `json:"image"`
	AgentImage string `json:"agentImage,omitempty"`
	// Mode is the place of the drain driver.
	Mode Mode `json:"claimMode"`
	// Reduced: the agents have the weaker rights. The workloads say only that the agents make
	// use of them.
	Reduced bool `json:"reduced,omitempty"`
	// EvictionRequests: the controller acts on them.
	EvictionRequests bool `json:"evictionRequests,omitempty"`
	// NodeLeases: the controller takes leases of nodes.
	NodeLeases bool `json:"nodeLeases,omitempty"`
}

// InstalledBy reads it off the Deployment of the controllers, and the DaemonSet of the
// agents, which may be nil.
func InstalledBy(controller *appsv1.Deployment, agents *appsv1.DaemonSet) Installed {
	main := containerOf(controller.Spec.Template.Spec)
	i := Installed{Namespace: controller.Namespace, Image: main.Image, Mode: Node}
	if flagOf(main, "builtin-drivers") != "" || flagOf(main, "claim-mode") == string(Central) {
		i.Mode = Central
	}
	i.EvictionRequests = flagOf(main, evictionRequests) == "true"
	i.NodeLeases = flagOf(main, nodeLeases) == "true"
	if agents == nil {
		return i
	}
	agent := containerOf(agents.Spec.Template.Spec)
	i.Reduced = flagOf(agent, "act-as") == "self"
	if agent.Image != main.Image {
		i.AgentImage = agent.Image
	}
	return i
}

func containerOf(pod corev1.PodSpec) corev1.Container {
	if len(pod.Containers) == 0 {
		return corev1.Container{}
	}
	return pod.Containers[0]
}

// flagOf is the value of a flag in the arguments of a container. The last one counts.
func flagOf(c corev1.Container, name string) (value string) {
	for _, arg := range c.Args {
		if v, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			value = v
		}
	}
	return value
}

// Elsewhere says why what is done in the namespace of plain manifests must not be done beside
// the installation: rights, policies and kinds are one for the whole cluster.
func (i Installed) Elsewhere() error {
	if i.Namespace == Namespace {
		return nil
	}
	return fmt.Errorf("Slipway is in namespace %s, and this command knows that of namespace %s alone; rights, policies and kinds are "+ //nolint:staticcheck // a name
		"the same for both: change it, or take it away, as it was installed (docs/install.md)", i.Namespace, Namespace)
}

// Refuse says why a release in that mode cannot be applied over the installation.
func (i Installed) Refuse(mode Mode) error {
	if i.Mode == mode {
		return nil
	}
	return fmt.Errorf("Slipway in namespace %s has its drain driver in mode %s, and drains wait while the driver is in two places: "+ //nolint:staticcheck // a name
		"use --mode=%s, or 'kubectl slipway uninstall' before", i.Namespace, i.Mode, i.Mode)
}
