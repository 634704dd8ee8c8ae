// SPDX-License-Identifier: Apache-2.0

package update

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/test/harness"
)

// clusterwide are the kinds of which a cluster has something of ours.
const clusterwide = "namespaces,crds,clusterroles,clusterrolebindings,validatingadmissionpolicies," +
	"validatingadmissionpolicybindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings," +
	"validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices"

// nothingIsLeft is what an uninstall has to be.
func (b *busy) nothingIsLeft(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(b.env.Kubectl(t, "get", clusterwide, "-o", "name")) {
		if strings.Contains(line, "slipway") || strings.Contains(line, "lifecycle") {
			t.Errorf("there is still %s", strings.TrimSpace(line))
		}
	}
	for _, node := range []*harness.Node{b.draining, b.drained, b.foreign} {
		n := node.Await("is there", func(*corev1.Node) bool { return true })
		for key := range n.Annotations {
			if strings.Contains(key, "slipway.dev/") {
				t.Errorf("node %s has annotation %s", n.Name, key)
			}
		}
		if others := node == b.foreign; n.Spec.Unschedulable != others {
			t.Errorf("node %s is unschedulable: %t; want %t", n.Name, n.Spec.Unschedulable, others)
		}
	}
	b.othersWork(t)
}

// othersWork is that somebody who has nothing to do with us does what they may.
func (b *busy) othersWork(t *testing.T) {
	t.Helper()
	const anybody = "--as=anybody"
	b.env.Shell(t, `
kubectl create clusterrole anybody --verb=get,list,watch,patch,delete --resource=nodes,pods --dry-run=client -o yaml | kubectl apply -f -
kubectl create clusterrolebinding anybody --clusterrole=anybody --user=anybody --dry-run=client -o yaml | kubectl apply -f -
`)
	pod := b.drained.Pod("anybody", quick())
	b.env.Kubectl(t, anybody, "label", "--overwrite", "node", b.drained.Name, "example.com/labelled=yes")
	// A dry run goes through admission as well, and leaves the cordons as they are.
	b.env.Kubectl(t, anybody, "cordon", "--dry-run=server", b.drained.Name)
	b.env.Kubectl(t, anybody, "uncordon", "--dry-run=server", b.drained.Name)
	b.env.Kubectl(t, anybody, "delete", "pod", "-n", pod.Namespace, pod.Name)
}
