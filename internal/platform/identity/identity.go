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
	// nodeNameExtra is the extra of a user whose token is bound to a pod: its node.
	nodeNameExtra = "authentication.kubernetes.io/node-name"
)

// Self loads the credentials of the process: of the kubeconfig if one is given, or
// else of the one that KUBECONFIG names, or else of the pod that it runs in. qps and burst limit its requests.
func Self(kubeconfig string, qps float32, burst int) (*rest.Config, error) {
	config, err := load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load the credentials of the process: %w", err)
	}
	config.QPS, config.Burst = qps, burst
	return config, nil
}

func load(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		kubeconfig = os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	}
	if kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

// AsNode returns the credentials with which the process acts as the given node, and
// the name of the user that it acts as. A kubelet's credentials do already; a service
// account's token that names the node is used to impersonate it; anybody else, such as
// a developer with a kubeconfig, acts as themselves.
func AsNode(ctx context.Context, self *rest.Config, nodeName string) (*rest.Config, string, error) {
	return For(ctx, self, nodeName, ActAsNode)
}

// For is [AsNode], unless a service account is to act as itself.
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

// belongsTo is nil unless the credentials are another node's, or are a service account's
// that are not bound to the node.
func belongsTo(user *authenticationv1.UserInfo, nodeName string) error {
	if strings.HasPrefix(user.Username, nodeUserPrefix) && user.Username != nodeUserPrefix+nodeName {
		return fmt.Errorf("the credentials are those of %s, not of node %q", user.Username, nodeName)
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
		return nil, fmt.Errorf("ask the API server who we are: %w", err)
	}
	return &review.Status.UserInfo, nil
}
