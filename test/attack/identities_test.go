// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// To be somebody else, and to get at what makes one.
var onIdentities = map[string]attempt{
	"act as another node":               {agentA, actAs(asNode(ofB)), byImpersonation, agentB},
	"act as a user":                     {agentA, actAs(asUser("alice")), byImpersonation, root},
	"act as a group":                    {agentA, actAs(asUser("alice", "system:masters")), byImpersonation, root},
	"act as the controller":             {agentA, actAs(asUser(controllerAccount)), byImpersonation, root},
	"act as oneself on another node":    {agentA, actAs(asAgentOf(ofB)), byImpersonation, root},
	"act as the scheduler":              {agentA, actAs(asUser("system:kube-scheduler")), byImpersonation, root},
	"read a Secret":                     {agentA, readSecret, byRBAC, root},
	"read a Secret as its node":         {nodeA, readSecret, byImpersonation, root},
	"list Secrets of Slipway":           {agentA, listSecrets("slipway-system"), byRBAC, root},
	"list all Secrets as its node":      {nodeA, listSecrets(metav1.NamespaceAll), byImpersonation, root},
	"get another token of its account":  {agentA, makeToken("slipway-node-agent"), byRBAC, root},
	"get a token of the controller":     {agentA, makeToken("slipway-controller"), byRBAC, root},
	"get a token as its node":           {nodeA, makeToken("slipway-controller"), byImpersonation, root},
	"act as another node by the driver": {driverOn, actAs(asNode(ofA)), byImpersonation, agentA},
}

func asUser(name string, groups ...string) func(*scene) rest.ImpersonationConfig {
	return func(*scene) rest.ImpersonationConfig { return rest.ImpersonationConfig{UserName: name, Groups: groups} }
}

func asNode(of string) func(*scene) rest.ImpersonationConfig {
	return func(s *scene) rest.ImpersonationConfig {
		return rest.ImpersonationConfig{UserName: "system:node:" + s.nodes[of].Name}
	}
}

// asAgentOf forges what the API server says of a token: which node it is of.
func asAgentOf(of string) func(*scene) rest.ImpersonationConfig {
	return func(s *scene) rest.ImpersonationConfig {
		return rest.ImpersonationConfig{
			UserName: agentAccount,
			Extra:    map[string][]string{"authentication.kubernetes.io/node-name": {s.nodes[of].Name}},
		}
	}
}

// actAs makes a request as somebody else: one that a node may make, about itself.
func actAs(whom func(*scene) rest.ImpersonationConfig) try {
	return func(ctx context.Context, s *scene, h hand) error {
		user := whom(s)
		kube, err := kubernetes.NewForConfig(impersonating(h.config, user))
		if err != nil {
			return err
		}
		for _, node := range s.nodes {
			if user.UserName == "system:node:"+node.Name {
				_, err := kube.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
				return err
			}
		}
		_, err = kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		return err
	}
}

func readSecret(ctx context.Context, s *scene, h hand) error {
	_, err := h.kube.CoreV1().Secrets(s.secret.Namespace).Get(ctx, s.secret.Name, metav1.GetOptions{})
	return err
}

func listSecrets(namespace string) try {
	return func(ctx context.Context, _ *scene, h hand) error {
		_, err := h.kube.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
		return err
	}
}

func makeToken(account string) try {
	return func(ctx context.Context, _ *scene, h hand) error {
		_, err := h.kube.CoreV1().ServiceAccounts("slipway-system").CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	}
}
