// SPDX-License-Identifier: Apache-2.0

package statics

import "slices"

// components are those that kubeadm, and who follows it, labels as "component".
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// IsControlPlane says by the labels of a static pod whether it runs the control plane: by those
// that kubeadm writes, in any namespace. Whoever runs more of it in static pods, as the keeper
// of its address, labels them "tier: control-plane", too.
func IsControlPlane(labels map[string]string) bool {
	return labels["tier"] == "control-plane" || slices.Contains(components, labels["component"])
}
