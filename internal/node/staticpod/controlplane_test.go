// SPDX-License-Identifier: Apache-2.0

package staticpod

import "testing"

func TestIsControlPlane(t *testing.T) {
	for _, tc := range []struct {
		about, name string
		labels      map[string]string
		is          bool
	}{
		{about: "kubeadm", name: "x", labels: map[string]string{"component": "kube-apiserver"}, is: true},
		{about: "by its tier", name: "haproxy", labels: map[string]string{"tier": "control-plane"}, is: true},
		{about: "kOps", name: "x", labels: map[string]string{"k8s-app": "kube-scheduler"}, is: true},
		{about: "kOps' etcd", name: "x", labels: map[string]string{"k8s-app": "etcd-manager-main"}, is: true},
		{about: "OpenShift", name: "x", labels: map[string]string{"app": "openshift-kube-apiserver"}, is: true},
		{about: "by hand, without labels", name: "etcd", is: true},
		{about: "a mirror pod", name: "kube-controller-manager-w1", is: true},
		{about: "the keeper of the address", name: "kube-vip-w1", is: true},
		{about: "somebody's", name: "registry-w1", labels: map[string]string{"app": "registry", "tier": "node"}},
		{about: "a name that only begins like it", name: "etcdctl-w1", labels: map[string]string{"app": "kube-schedulers"}},
		{about: "no labels", name: "a"},
	} {
		if got := IsControlPlane(tc.name, tc.labels); got != tc.is {
			t.Errorf("%s: %t", tc.about, got)
		}
	}
}
