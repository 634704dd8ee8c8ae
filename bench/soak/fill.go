// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/bench/internal/until"
)

// sideBySide is how many objects are created at a time.
const sideBySide = 16

// fill puts the workload on the nodes, and returns when all of it is ready and the
// budgets say so.
func (g *stage) fill(ctx context.Context) error {
	nodes, podsPerNode := g.cluster.Nodes, g.settings.podsPerNode
	all := apps(nodes, podsPerNode)
	g.say("creating %d pods", len(nodes)*podsPerNode)
	if err := g.createPods(ctx, all); err != nil {
		return err
	}
	running := g.count("pods run", len(nodes)*podsPerNode)
	err := until.Done(ctx, g.clients.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, &corev1.Pod{}, func(p *corev1.Pod) bool {
		return running.is(p, p.Status.Phase == corev1.PodRunning)
	})
	if err != nil {
		return fmt.Errorf("wait until the pods run: %w", err)
	}
	allowed, err := g.createOwners(ctx, all)
	if err != nil {
		return err
	}
	owned := g.count("ReplicaSets are ready", len(all))
	err = until.Done(ctx, g.clients.AppsV1().RESTClient(), "replicasets", metav1.NamespaceAll, &appsv1.ReplicaSet{}, func(r *appsv1.ReplicaSet) bool {
		want := *r.Spec.Replicas
		return owned.is(r, r.Status.ObservedGeneration == r.Generation && r.Status.Replicas == want && r.Status.ReadyReplicas == want)
	})
	if err != nil {
		return fmt.Errorf("wait until the ReplicaSets are ready: %w", err)
	}
	counted := g.count("budgets have counted", len(allowed))
	err = until.Done(ctx, g.clients.PolicyV1().RESTClient(), "poddisruptionbudgets", metav1.NamespaceAll, &policyv1.PodDisruptionBudget{}, func(b *policyv1.PodDisruptionBudget) bool {
		return counted.is(b, b.Status.ObservedGeneration == b.Generation && b.Status.DisruptionsAllowed == allowed[b.Namespace+"/"+b.Name])
	})
	if err != nil {
		return fmt.Errorf("wait until the budgets have counted the pods: %w", err)
	}
	return nil
}

func (g *stage) createPods(ctx context.Context, all []app) error {
	for slot := range g.settings.podsPerNode {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: all[slot*groups].namespace}}
		if _, err := g.clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create namespace %s: %w", namespace.Name, err)
		}
	}
	var created atomic.Int32
	creating, ctx := errgroup.WithContext(ctx)
	creating.SetLimit(sideBySide)
	for _, a := range all {
		for _, node := range a.nodes {
			creating.Go(func() error {
				if _, err := g.clients.CoreV1().Pods(a.namespace).Create(ctx, a.pod(node), metav1.CreateOptions{}); err != nil {
					return fmt.Errorf("create a pod on %s: %w", node, err)
				}
				if n := created.Add(1); n%1000 == 0 {
					g.say("%d pods are created", n)
				}
				return nil
			})
		}
	}
	return creating.Wait()
}

// createOwners returns how many pods each budget lets go, when all of them are ready.
func (g *stage) createOwners(ctx context.Context, all []app) (allowed map[string]int32, err error) {
	allowed = map[string]int32{}
	for _, a := range all {
		if _, err := g.clients.AppsV1().ReplicaSets(a.namespace).Create(ctx, a.replicaSet(), metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create a ReplicaSet: %w", err)
		}
		if !a.budget {
			continue
		}
		allowed[a.namespace+"/"+a.name] = int32(a.mayMiss())
		if _, err := g.clients.PolicyV1().PodDisruptionBudgets(a.namespace).Create(ctx, a.disruptionBudget(), metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create a budget: %w", err)
		}
	}
	return allowed, nil
}
