// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
)

// Installed are the installations on the cluster: one, if all is well. Who may not look into
// all namespaces, sees that of slipway-system; who may not do that either, gets the refusal.
// Who may not read which rights they have, gets that refusal and what
// looks like an installation.
func (c *Cluster) Installed(ctx context.Context) ([]release.Installed, error) {
	namespace := metav1.NamespaceAll
	controllers, err := c.kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: release.ControllerSelector})
	if apierrors.IsForbidden(err) {
		namespace = release.Namespace
		controllers, err = c.kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: release.ControllerSelector})
	}
	if err != nil {
		return nil, fmt.Errorf("read the Deployment of the controllers: %w", err)
	}
	agents, err := c.kube.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: release.AgentSelector})
	if err != nil {
		return nil, fmt.Errorf("read the DaemonSet of the agents: %w", err)
	}
	var found []release.Installed
	for _, controller := range controllers.Items {
		found = append(found, release.InstalledBy(&controller, in(controller.Namespace, agents.Items)))
	}
	return c.withRights(ctx, found)
}

// withRights leaves those installations whose controller has its rights, because anybody
// can give a Deployment the labels of Slipway in a namespace of theirs, and says which have
// the weaker variant's. What the agents are told to make use of is not it: a binding that
// somebody has left gives them all the same.
func (c *Cluster) withRights(ctx context.Context, found []release.Installed) ([]release.Installed, error) {
	controllers, err := c.binding(ctx, release.Controller)
	if err != nil {
		return found, err
	}
	reduced, err := c.binding(ctx, release.ReducedRights)
	if err != nil {
		return found, err
	}
	found = slices.DeleteFunc(found, func(i release.Installed) bool { return controllers != nil && !release.Gives(controllers, i.Namespace) })
	for i := range found {
		found[i].Reduced = reduced != nil && release.Gives(reduced, found[i].Namespace)
	}
	return found, nil
}

// binding is a ClusterRoleBinding, or nil.
func (c *Cluster) binding(ctx context.Context, name string) (*rbacv1.ClusterRoleBinding, error) {
	found, err := c.kube.RbacV1().ClusterRoleBindings().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read which rights Slipway has: %w", err)
	default:
		return found, nil
	}
}

func in(namespace string, agents []appsv1.DaemonSet) *appsv1.DaemonSet {
	for i := range agents {
		if agents[i].Namespace == namespace {
			return &agents[i]
		}
	}
	return nil
}
