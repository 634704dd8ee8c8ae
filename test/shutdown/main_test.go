// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// account is that of slipway-host, its DaemonSet's name and its pods' label.
const account = "slipway-host"

// ground is a cluster with what is optional for shutdowns.
type ground struct{ *harness.Env }

func withHosts(t *testing.T) ground {
	t.Helper()
	env := harness.Shared(t)
	env.Kubectl(t, "apply", "--server-side", "-f", harness.File(t, "config", "rbac", "host"))
	labels := map[string]string{"app": account}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: devcluster.Namespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: account,
					Containers:         []corev1.Container{{Name: "host", Image: "slipway.dev/slipway-host:local"}},
					Tolerations:        []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
	if err := env.Client.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.DeleteQuietly(set) })
	return ground{env}
}

// credentials are those of slipway-host on the node: a token that is bound to its pod.
func (g ground) credentials(t *testing.T, node *harness.Node) *rest.Config {
	t.Helper()
	pod := harness.Await(t, g.Env, "slipway-host has a pod on "+node.Name, &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil
	}, client.InNamespace(devcluster.Namespace), client.MatchingLabels{"app": account}, client.MatchingFields{"spec.nodeName": node.Name})
	clients, err := kubernetes.NewForConfig(g.Admin)
	if err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	token, err := clients.CoreV1().ServiceAccounts(devcluster.Namespace).CreateToken(context.WithoutCancel(t.Context()), account, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(g.Admin)
	config.BearerToken = token.Status.Token
	return config
}
