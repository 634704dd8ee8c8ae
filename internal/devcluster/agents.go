// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
)

const (
	// Namespace contains Slipway's own pods.
	Namespace = "slipway-system"
	// AgentServiceAccount is the agents' service account, and the name of their DaemonSet.
	AgentServiceAccount = "slipway-node-agent"
	// ControllerServiceAccount is the controllers' service account.
	ControllerServiceAccount = "slipway-controller"
)

var agentLabels = oversight.AgentLabels()

// CreateAgentPods creates the DaemonSet of the agents, if it does not exist. kwok simulates its
// pods; tests start the processes.
func (c *Cluster) CreateAgentPods(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(c.Admin)
	if err != nil {
		return fmt.Errorf("build the administrator's client: %w", err)
	}
	agents := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: AgentServiceAccount, Namespace: Namespace, Labels: agentLabels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: agentLabels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: agentLabels},
				Spec: corev1.PodSpec{
					ServiceAccountName: AgentServiceAccount,
					// kwok ends a pod at some time within it, and no test waits for that.
					TerminationGracePeriodSeconds: new(int64(1)),
					Containers:                    []corev1.Container{{Name: "agent", Image: "slipway.dev/node-agent:local"}},
					Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
	_, err = clients.AppsV1().DaemonSets(Namespace).Create(ctx, agents, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the agents' DaemonSet: %w", err)
	}
	return nil
}

// StartPod runs a command as the process of a pod until the pod or the cluster is deleted. The
// process has the pod's token, which the launcher renews.
func (c *Cluster) StartPod(ctx context.Context, pod *corev1.Pod, command ...string) error {
	arguments := append([]string{"pod", Namespace + "/" + pod.Name, "--dir", c.Dir, "--quiet", "--detach", "--"}, command...)
	return c.launch(ctx, io.Discard, arguments...)
}

// AgentCommand returns the command line of a node's agent, with the path of node-agent. The
// sockets of drivers are beside the cluster's directory, which contains only files of the launcher.
func (c *Cluster) AgentCommand(node, binary string, flags ...string) []string {
	dir := filepath.Join(filepath.Dir(c.Dir), "agents", node)
	return append([]string{
		binary, "--node-name=" + node,
		"--plugin-registration-path=" + filepath.Join(dir, "registry"),
		"--health-probe-bind-address=0",
	}, flags...)
}

// AgentConfig returns credentials of the node's agent pod.
func (c *Cluster) AgentConfig(ctx context.Context, node string) (*rest.Config, error) {
	pod, err := c.AgentPod(ctx, node)
	if err != nil {
		return nil, err
	}
	return c.TokenOf(ctx, AgentServiceAccount, pod)
}

// ControllerConfig returns credentials of the controller.
func (c *Cluster) ControllerConfig(ctx context.Context) (*rest.Config, error) {
	return c.TokenOf(ctx, ControllerServiceAccount, nil)
}

// TokenOf returns credentials with a token of the service account, bound to the pod if there is
// one. The token outlives the cluster: a kubelet would renew it, and there is none here.
func (c *Cluster) TokenOf(ctx context.Context, account string, pod *corev1.Pod) (*rest.Config, error) {
	const life = 7 * 24 * time.Hour
	clients, err := kubernetes.NewForConfig(c.Admin)
	if err != nil {
		return nil, fmt.Errorf("build the administrator's client: %w", err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(life.Seconds()))}}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	}
	token, err := clients.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("request a token of %s: %w", account, err)
	}
	config := rest.AnonymousClientConfig(c.Admin)
	config.BearerToken = token.Status.Token
	return config, nil
}

// WriteKubeconfig writes a kubeconfig with the given bearer token.
func WriteKubeconfig(path string, config *rest.Config) error {
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["cluster"] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile,
	}
	kubeconfig.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts["context"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "user"}
	kubeconfig.CurrentContext = "context"
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}
