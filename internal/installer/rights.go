// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Missing are the rights that the caller does not have to what is to be done to the
// objects, such as "create clusterroles.rbac.authorization.k8s.io".
func (c *Cluster) Missing(ctx context.Context, objects []*unstructured.Unstructured, verbs ...string) ([]string, error) {
	asked := map[string]bool{}
	var missing []string
	for _, o := range objects {
		plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		for _, verb := range verbs {
			name := verb + " " + plural.GroupResource().String()
			if o.GetNamespace() != "" {
				name += " in " + o.GetNamespace()
			}
			if asked[name] {
				continue
			}
			asked[name] = true
			allowed, err := c.allowed(ctx, authorizationv1.ResourceAttributes{
				Verb: verb, Group: plural.Group, Resource: plural.Resource, Namespace: o.GetNamespace(),
			})
			if err != nil {
				return nil, err
			}
			if !allowed {
				missing = append(missing, name)
			}
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// MissingError is what to tell who lacks rights, or nil.
func MissingError(verb string, missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("you may not %s Slipway here; ask who administers the cluster. These rights are missing: %s",
		verb, strings.Join(missing, ", "))
}

func (c *Cluster) allowed(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	review, err := c.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask which rights you have: %w", err)
	}
	return review.Status.Allowed, nil
}
