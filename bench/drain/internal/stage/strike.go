// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/slipway-k8s/slipway/bench/internal/until"
)

// Emptied checks that the nodes are drained: whoever says so has to be right.
func (s *Stage) Emptied(ctx context.Context, scene *Scene) error {
	for _, node := range scene.Drained {
		left, err := s.podsOn(ctx, scene.Namespace, node)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return fmt.Errorf("%s is said to be drained, and has %d pods", node, len(left))
		}
	}
	return nil
}

// Uncordon makes nodes schedulable again.
func (s *Stage) Uncordon(ctx context.Context, nodes []string) error {
	for _, node := range nodes {
		schedulable := []byte(`{"spec":{"unschedulable":null}}`)
		if _, err := s.clients.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, schedulable, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("uncordon %s: %w", node, err)
		}
	}
	return s.AwaitSchedulable(ctx, nodes)
}

// AwaitSchedulable waits until the nodes' taints are gone, too.
func (s *Stage) AwaitSchedulable(ctx context.Context, nodes []string) error {
	wanted := map[string]bool{}
	for _, node := range nodes {
		wanted[node] = true
	}
	err := until.Done(ctx, s.clients.CoreV1().RESTClient(), "nodes", "", &corev1.Node{}, func(n *corev1.Node) bool {
		if !n.Spec.Unschedulable && len(n.Spec.Taints) == 0 {
			delete(wanted, n.Name)
		}
		return len(wanted) == 0
	})
	if err != nil {
		return fmt.Errorf("wait until the nodes are schedulable: %w", err)
	}
	return nil
}

// Strike removes a workload and returns when its namespace is gone. Nothing of it is
// given time to end.
func (s *Stage) Strike(ctx context.Context, namespace string) error {
	apps, err := s.clients.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the workload: %w", err)
	}
	background := metav1.DeletePropagationBackground
	at := metav1.DeleteOptions{PropagationPolicy: &background}
	err = errors.Join(
		s.clients.AppsV1().Deployments(namespace).DeleteCollection(ctx, at, metav1.ListOptions{}),
		s.clients.AppsV1().ReplicaSets(namespace).DeleteCollection(ctx, at, metav1.ListOptions{}),
		s.deletePods(ctx, namespace, apps.Items),
		s.clients.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}),
	)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the workload: %w", err)
	}
	lister := cache.NewListWatchFromClient(s.clients.CoreV1().RESTClient(), "namespaces", "", fields.OneTermEqualSelector("metadata.name", namespace))
	gone := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	_, err = watchtools.UntilWithSync(ctx, lister, &corev1.Namespace{}, gone, func(e watch.Event) (bool, error) {
		return e.Type == watch.Deleted, nil
	})
	if err != nil {
		return fmt.Errorf("wait until namespace %s is gone: %w", namespace, err)
	}
	return nil
}

// deletePods goes app by app: for those of a fleet in one request, the server takes longer
// than it may.
func (s *Stage) deletePods(ctx context.Context, namespace string, apps []appsv1.Deployment) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for _, app := range apps {
		of := metav1.ListOptions{LabelSelector: appLabel + "=" + app.Name}
		if err := s.clients.CoreV1().Pods(namespace).DeleteCollection(ctx, now, of); err != nil {
			return fmt.Errorf("delete the pods of %s: %w", app.Name, err)
		}
	}
	return nil
}
