// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// hostAccount is that of slipway-host, its DaemonSet's name and its pods' label.
const hostAccount = "slipway-host"

// Hosts puts what slipway-host needs onto the cluster: its rights, and a pod on each node, which
// its token belongs to. The processes are the test's.
func (e *Env) Hosts(t *testing.T) {
	t.Helper()
	e.Kubectl(t, "apply", "--server-side", "-f", File(t, "config", "rbac", "host"))
	labels := map[string]string{"app": hostAccount}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: hostAccount, Namespace: devcluster.Namespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: hostAccount,
					Containers:         []corev1.Container{{Name: "host", Image: "slipway.dev/slipway-host:local"}},
					Tolerations:        []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
	if err := e.Client.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.DeleteQuietly(set) })
}

// HostCredentials are those of slipway-host on the node: a token that is bound to its pod.
func (n *Node) HostCredentials() *rest.Config {
	n.t.Helper()
	pod := Await(n.t, n.env, "slipway-host has a pod on "+n.Name, &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil
	}, client.InNamespace(devcluster.Namespace), client.MatchingLabels{"app": hostAccount}, client.MatchingFields{"spec.nodeName": n.Name})
	clients, err := kubernetes.NewForConfig(n.env.Admin)
	if err != nil {
		n.t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	token, err := clients.CoreV1().ServiceAccounts(devcluster.Namespace).CreateToken(context.WithoutCancel(n.t.Context()), hostAccount, request, metav1.CreateOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(n.env.Admin)
	config.BearerToken = token.Status.Token
	return config
}

// Host starts slipway-host on the node, with the bus of a logind. Later flags count.
func (n *Node) Host(bus string, flags ...string) *Process {
	n.t.Helper()
	kubeconfig := filepath.Join(n.Dir, "host-kubeconfig")
	if err := devcluster.WriteKubeconfig(kubeconfig, n.HostCredentials()); err != nil {
		n.t.Fatal(err)
	}
	arguments := append([]string{"--node-name=" + n.Name, "--system-bus=" + bus, "--health-probe-bind-address=0", "-v=2"}, flags...)
	return StartProcess(n.t, "slipway-host of "+n.Name, []string{"KUBECONFIG=" + kubeconfig}, Binary(n.t, "slipway-host"), arguments...)
}
