// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/release"
)

// Installed are the installations on the cluster: one, if all is well. Who may not look into
// all namespaces, sees that of slipway-system; who may not do that either, gets the refusal.
// Who may not read the rights of the agents, gets that refusal and the installations.
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
	return found, c.addRights(ctx, found)
}

// addRights says which installations have the weaker rights. What the agents are told to
// make use of is not it: a binding that somebody has left gives them all the same.
func (c *Cluster) addRights(ctx context.Context, found []release.Installed) error {
	binding, err := c.kube.RbacV1().ClusterRoleBindings().Get(ctx, release.ReducedRights, metav1.GetOptions{})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the rights of the agents: %w", err)
	}
	for i := range found {
		found[i].Reduced = err == nil && release.Gives(binding, found[i].Namespace)
	}
	return nil
}

func in(namespace string, agents []appsv1.DaemonSet) *appsv1.DaemonSet {
	for i := range agents {
		if agents[i].Namespace == namespace {
			return &agents[i]
		}
	}
	return nil
}
