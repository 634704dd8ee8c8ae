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

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
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

// MissingForRemoval are the rights that the caller does not have to take everything away,
// the maintenances, events and marks on nodes with it.
func (c *Cluster) MissingForRemoval(ctx context.Context, everything []*unstructured.Unstructured) ([]string, error) {
	missing, err := c.Missing(ctx, everything, "get", "list", "watch", "delete")
	if err != nil {
		return nil, err
	}
	for _, more := range removal() {
		lacks, err := c.Missing(ctx, []*unstructured.Unstructured{more.of}, more.verbs...)
		if err != nil {
			return nil, err
		}
		missing = append(missing, lacks...)
	}
	slices.Sort(missing)
	return slices.Compact(missing), nil
}

// MissingForHosts are the rights that the caller does not have to [Cluster.ForgetHosts].
func (c *Cluster) MissingForHosts(ctx context.Context) ([]string, error) {
	return c.Missing(ctx, []*unstructured.Unstructured{ofKind("v1", "Node")}, "list", "patch")
}

// doing is what is done to objects of a kind.
type doing struct {
	of    *unstructured.Unstructured
	verbs []string
}

// removal is what is done to objects that no release has. Where a right to a kind in one of
// the two groups is missing, it is missing where the kind is served, too: rights are given
// for both.
func removal() (all []doing) {
	for _, group := range []string{lifecyclev1alpha1.GroupKubernetes, lifecyclev1alpha1.GroupSlipway} {
		all = append(all, doing{ofKind(group+"/"+lifecyclev1alpha1.Version, "LifecycleEvent"), []string{"get", "list", "watch", "delete", "patch"}})
	}
	return append(all,
		doing{ofKind(slipwayv1alpha1.GroupVersion.String(), "NodeMaintenance"), []string{"get", "list", "watch", "delete", "patch"}},
		doing{ofKind(slipwayv1alpha1.GroupVersion.String(), "DrainRule"), []string{"list"}},
		doing{ofKind("v1", "Node"), []string{"get", "list", "watch", "patch"}},
		doing{ofKind("apps/v1", "Deployment"), []string{"list"}},
		doing{ofKind("apps/v1", "DaemonSet"), []string{"list"}},
	)
}

func ofKind(apiVersion, kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	return o
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
