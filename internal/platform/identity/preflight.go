// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// ErrMissingRights means that an agent cannot do its work with the rights it has.
var ErrMissingRights = errors.New("missing rights")

// ErrNoImpersonation means that the API server does not let an agent act as its node,
// whatever RBAC says.
var ErrNoImpersonation = errors.New("the API server knows no constrained impersonation: it takes Kubernetes 1.36 or newer, " +
	"with the feature gate ConstrainedImpersonation. Without it, run with --act-as=self and apply config/rbac/reduced " +
	"and config/admission/reduced, which is weaker (docs/security.md)")

// Preflight asks the API server whether an agent has the rights that it needs. The
// error says in one line which it lacks, and how to get them; without says what it can
// work without, and lacks. Credentials that are not a service account's are taken as
// they are.
func Preflight(ctx context.Context, self, asNode *rest.Config, agent Agent) (without []string, err error) {
	user, err := whoAmI(ctx, self)
	if err != nil || !isServiceAccount(user) {
		return nil, err
	}
	missing, err := missingRights(ctx, self, neededBy(agent))
	if err != nil {
		return nil, err
	}
	var required []string
	for _, r := range missing {
		if r.optional {
			without = append(without, r.String())
		} else {
			required = append(required, r.String())
		}
	}
	if len(required) > 0 {
		return without, fmt.Errorf("%w of %s: %s: %s", ErrMissingRights, user.Username, strings.Join(required, ", "), remedy(agent))
	}
	return without, canAct(ctx, asNode, agent.NodeName)
}

func remedy(a Agent) string {
	if a.OnlyAnnounces {
		return "kubectl apply -f config/rbac/host"
	}
	if a.As == ActAsSelf {
		return "kubectl apply -f config/rbac -f config/rbac/reduced"
	}
	return "kubectl apply -f config/rbac"
}

// missingRights asks once for all rights, and then for each that seems to be missing:
// not every authorizer can say what it would allow.
func missingRights(ctx context.Context, self *rest.Config, rights []right) ([]right, error) {
	client, err := authorizationclient.NewForConfig(self)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	// The rights are for all namespaces; a review is for one.
	rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault}}
	if rules, err = client.SelfSubjectRulesReviews().Create(ctx, rules, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("ask the API server what we may do: %w", err)
	}
	var missing []right
	for _, r := range notIn(rules.Status.ResourceRules, rights) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: r.attributes()}}
		if review, err = client.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("ask the API server whether we may %s: %w", r, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, r)
		}
	}
	return missing, nil
}

func (r right) attributes() *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(r.resource, "/")
	return &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource}
}

// canAct reads the Node as the node. That RBAC allows the impersonation does not say that
// the API server knows it.
func canAct(ctx context.Context, asNode *rest.Config, nodeName string) error {
	if asNode.Impersonate.UserName == "" {
		return nil
	}
	client, err := corev1client.NewForConfig(asNode)
	if err != nil {
		return fmt.Errorf("build the node's client: %w", err)
	}
	_, err = client.Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "impersonate"):
		return fmt.Errorf("act as %s: %w", asNode.Impersonate.UserName, ErrNoImpersonation)
	case apierrors.IsNotFound(err):
		return nil // it may yet come
	case err != nil:
		return fmt.Errorf("read node %s as itself: %w", nodeName, err)
	}
	return nil
}
