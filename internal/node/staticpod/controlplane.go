// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"slices"
	"strings"
)

// components are those of a control plane that run in static pods.
var components = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "cloud-controller-manager", "kube-vip",
}

// IsControlPlane says of a static pod, by its name and its labels, whether it runs the control plane,
// in any namespace. kubeadm, and who follows it, labels the parts "tier: control-plane" and "component",
// others "k8s-app" (kOps) or "app" (OpenShift), and some not at all: there the name says it, also that
// of a mirror pod, which ends with the node's. Whoever runs more of it in static pods, as the keeper of
// its address, labels them "tier: control-plane", too.
func IsControlPlane(name string, labels map[string]string) bool {
	if labels["tier"] == "control-plane" || isPart(name) {
		return true
	}
	return slices.ContainsFunc([]string{"component", "k8s-app", "app"}, func(key string) bool { return isPart(labels[key]) })
}

// isPart says whether a name is that of a component, or goes on after it, as etcd-manager-main does: of
// what belongs to a component, nothing is taken away either.
func isPart(name string) bool {
	name = strings.TrimPrefix(name, "openshift-")
	return slices.ContainsFunc(components, func(c string) bool { return name == c || strings.HasPrefix(name, c+"-") })
}
