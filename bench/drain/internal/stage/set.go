// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/slipway-k8s/slipway/bench/drain/internal/scenario"
	"github.com/slipway-k8s/slipway/bench/internal/until"
)

// Scene is a workload, ready to be drained.
type Scene struct {
	Namespace string
	// Drained are the nodes to drain.
	Drained []string
	// Fleet is how many of them may be out at a time, where they are returned as well.
	Fleet int
	// InScope are the pods on them, each with its budget.
	InScope map[string]string
}

// Set puts up the workload of a scenario in a new namespace, and returns when all of it
// is ready and its budgets say so.
func (s *Stage) Set(ctx context.Context, namespace string, of scenario.Scenario, apps []scenario.App) (*Scene, error) {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := s.clients.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	for _, budget := range budgets(apps, of.MaxUnavailable) {
		if _, err := s.clients.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, budget, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create budget %s: %w", budget.Name, err)
		}
	}
	nodes := s.Nodes[:of.Nodes]
	for _, app := range apps {
		if _, err := s.clients.AppsV1().Deployments(namespace).Create(ctx, deployment(app, nodes), metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create deployment %s: %w", app.Name, err)
		}
	}
	if err := s.awaitReady(ctx, namespace, len(apps)); err != nil {
		return nil, err
	}
	if err := s.awaitBudgets(ctx, namespace, apps, of.MaxUnavailable); err != nil {
		return nil, err
	}
	scene := &Scene{Namespace: namespace, Drained: nodes[:of.Drained], Fleet: of.Fleet}
	var err error
	scene.InScope, err = s.inScope(ctx, scene, of.PodsPerNode())
	return scene, err
}

// awaitReady waits until all pods of all Deployments are ready.
func (s *Stage) awaitReady(ctx context.Context, namespace string, apps int) error {
	ready := map[string]bool{}
	err := until.Done(ctx, s.clients.AppsV1().RESTClient(), "deployments", namespace, &appsv1.Deployment{}, func(d *appsv1.Deployment) bool {
		ready[d.Name] = d.Status.ObservedGeneration == d.Generation && d.Status.ReadyReplicas == *d.Spec.Replicas
		return len(ready) == apps && !slices.Contains(values(ready), false)
	})
	if err != nil {
		return fmt.Errorf("wait until the workload is ready: %w", err)
	}
	return nil
}

// awaitBudgets waits until the budgets have counted all pods.
func (s *Stage) awaitBudgets(ctx context.Context, namespace string, apps []scenario.App, maxUnavailable int) error {
	want := pods(apps)
	delete(want, "")
	if len(want) == 0 {
		return nil
	}
	counted := map[string]bool{}
	err := until.Done(ctx, s.clients.PolicyV1().RESTClient(), "poddisruptionbudgets", namespace, &policyv1.PodDisruptionBudget{}, func(b *policyv1.PodDisruptionBudget) bool {
		n := int32(want[b.Name])
		counted[b.Name] = b.Status.ObservedGeneration == b.Generation && b.Status.ExpectedPods == n &&
			b.Status.CurrentHealthy == n && b.Status.DisruptionsAllowed == int32(maxUnavailable)
		return len(counted) == len(want) && !slices.Contains(values(counted), false)
	})
	if err != nil {
		return fmt.Errorf("wait until the budgets have counted the pods: %w", err)
	}
	return nil
}

// inScope returns the pods on the nodes to drain, which must be as many as wanted.
func (s *Stage) inScope(ctx context.Context, scene *Scene, perNode int) (map[string]string, error) {
	found := map[string]string{}
	for _, node := range scene.Drained {
		onNode, err := s.podsOn(ctx, scene.Namespace, node)
		if err != nil {
			return nil, err
		}
		if len(onNode) != perNode {
			return nil, misplaced(node, len(onNode), perNode)
		}
		for _, pod := range onNode {
			found[pod.Name] = pod.Labels[budgetLabel]
		}
	}
	return found, nil
}

func (s *Stage) podsOn(ctx context.Context, namespace, node string) ([]corev1.Pod, error) {
	selected := fields.OneTermEqualSelector("spec.nodeName", node).String()
	list, err := s.clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: selected})
	if err != nil {
		return nil, fmt.Errorf("list the pods on %s: %w", node, err)
	}
	return list.Items, nil
}

func values(of map[string]bool) []bool {
	var all []bool
	for _, v := range of {
		all = append(all, v)
	}
	return all
}
