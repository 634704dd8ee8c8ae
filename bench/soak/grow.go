// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/bench/internal/until"
)

// grow adds simulated nodes, as the first of the cluster is, until there are so many.
func (g *stage) grow(ctx context.Context, size int) error {
	first, err := g.clients.CoreV1().Nodes().Get(ctx, g.cluster.Nodes[0], metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read a node: %w", err)
	}
	adding, added := errgroup.WithContext(ctx)
	adding.SetLimit(sideBySide)
	for len(g.cluster.Nodes) < size {
		node := another(first, fmt.Sprintf("worker-%d", len(g.cluster.Nodes)+1))
		g.cluster.Nodes = append(g.cluster.Nodes, node.Name)
		adding.Go(func() error {
			if _, err := g.clients.CoreV1().Nodes().Create(added, node, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	if err := adding.Wait(); err != nil {
		return err
	}
	ready := g.count("nodes are ready", size)
	err = until.Done(ctx, g.clients.CoreV1().RESTClient(), "nodes", metav1.NamespaceAll, &corev1.Node{}, func(n *corev1.Node) bool {
		return ready.is(n, isReady(n))
	})
	if err != nil {
		return fmt.Errorf("wait until the nodes are ready: %w", err)
	}
	return nil
}

func another(like *corev1.Node, name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: like.Annotations}}
	maps.Copy(node.Labels, like.Labels)
	node.Labels[corev1.LabelHostname] = name
	node.Status.Capacity, node.Status.Allocatable = like.Status.Capacity, like.Status.Allocatable
	return node
}

// isReady says whether pods can run on a node: it is Ready, and the taint of one that is not is gone.
func isReady(node *corev1.Node) bool {
	for _, t := range node.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
