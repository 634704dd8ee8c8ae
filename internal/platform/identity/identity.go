// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"
	"os"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// nodeUserPrefix begins the user name of every kubelet.
	nodeUserPrefix = "system:node:"
	// serviceAccountPrefix begins the user name of every service account.
	serviceAccountPrefix = "system:serviceaccount:"
	// nodeNameExtra is the extra with the node of a user whose token is bound to a pod.
	nodeNameExtra = "authentication.kubernetes.io/node-name"
)

// ActAs is the user as which a service account acts on its node and the pods there.
type ActAs string

const (
	// ActAsNode is constrained impersonation of the node: the API server limits it to that node and its pods.
	ActAsNode ActAs = "node"
	// ActAsSelf uses permissions of the service account for all nodes. It is for API servers without constrained
	// impersonation.
	ActAsSelf ActAs = "self"
)

// ActAsUsage describes a flag of that type.
const ActAsUsage = "the user for requests about the Node and its pods: node, by constrained impersonation (Kubernetes 1.36 or newer); " +
	"or self, which is weaker and needs the permissions in config/rbac/reduced"

// WeakerWarning is for the log of a process that acts as itself.
const WeakerWarning = "WARNING: --act-as=self: the permissions of this process are for all nodes, so a thief of its token " +
	"can drain the whole cluster. Use --act-as=node on Kubernetes 1.36 or newer (docs/security.md)"

// Set implements pflag.Value.
func (a *ActAs) Set(text string) error {
	switch as := ActAs(text); as {
	case ActAsNode, ActAsSelf:
		*a = as
		return nil
	default:
		return fmt.Errorf("want %s or %s", ActAsNode, ActAsSelf)
	}
}

// String implements pflag.Value.
func (a *ActAs) String() string { return string(*a) }

// Type implements pflag.Value.
func (a *ActAs) Type() string { return "string" }

// Self loads the credentials of the process: from the given kubeconfig, or from KUBECONFIG, or from its pod. qps and
// burst limit its requests.
func Self(kubeconfig string, qps float32, burst int) (config *rest.Config, err error) {
	if kubeconfig == "" {
		kubeconfig = os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	}
	if kubeconfig == "" {
		config, err = rest.InClusterConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("load the credentials of the process: %w", err)
	}
	config.QPS, config.Burst = qps, burst
	return config, nil
}

// For returns the credentials for requests about the given node, and the name of their user. A service account whose
// token names the node impersonates it, unless it acts as itself. A kubelet acts as the node already; any other user,
// such as a developer with a kubeconfig, keeps its identity.
func For(ctx context.Context, self *rest.Config, nodeName string, as ActAs) (*rest.Config, string, error) {
	user, err := whoAmI(ctx, self)
	if err != nil {
		return nil, "", err
	}
	if err := belongsTo(user, nodeName); err != nil {
		return nil, "", err
	}
	config := rest.CopyConfig(self)
	if as == ActAsSelf || !isServiceAccount(user) {
		return config, user.Username, nil
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: nodeUserPrefix + nodeName}
	return config, config.Impersonate.UserName, nil
}

func isServiceAccount(user *authenticationv1.UserInfo) bool {
	return strings.HasPrefix(user.Username, serviceAccountPrefix)
}

// belongsTo returns an error for the credentials of another node, and for a service account whose token is not bound
// to the node.
func belongsTo(user *authenticationv1.UserInfo, nodeName string) error {
	if strings.HasPrefix(user.Username, nodeUserPrefix) && user.Username != nodeUserPrefix+nodeName {
		return fmt.Errorf("the credentials belong to %s, not to node %q", user.Username, nodeName)
	}
	if !isServiceAccount(user) {
		return nil
	}
	switch bound := user.Extra[nodeNameExtra]; {
	case len(bound) == 0:
		return fmt.Errorf("the token of %s names no node: it must be bound to a pod on node %q", user.Username, nodeName)
	case bound[0] != nodeName:
		return fmt.Errorf("the token of %s names node %q, not node %q", user.Username, bound[0], nodeName)
	}
	return nil
}

func whoAmI(ctx context.Context, self *rest.Config) (*authenticationv1.UserInfo, error) {
	client, err := authenticationclient.NewForConfig(self)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	review, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the own identity from the API server: %w", err)
	}
	return &review.Status.UserInfo, nil
}
