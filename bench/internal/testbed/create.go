// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Await watches the objects of a resource, in one namespace or in all, and returns when as many as wanted match. It
// reports how many match.
func Await[T interface {
	metav1.Object
	runtime.Object
}](ctx context.Context, c *Cluster, client rest.Interface, resource, namespace string, example T, what string, want int, wanted func(T) bool) error {
	if want == 0 {
		return nil
	}
	found, said := map[string]bool{}, time.Now()
	lister := cache.NewListWatchFromClient(client, resource, namespace, fields.Everything())
	_, err := watchtools.UntilWithSync(ctx, lister, example, nil, func(e watch.Event) (bool, error) {
		object, ok := e.Object.(T)
		if !ok {
			return false, nil
		}
		key := object.GetNamespace() + "/" + object.GetName()
		delete(found, key)
		if e.Type != watch.Deleted && wanted(object) {
			found[key] = true
		}
		if time.Since(said) > sayPeriod {
			c.Printf("%d of %d %s", len(found), want, what)
			said = time.Now()
		}
		return len(found) >= want, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %d %s, %d are: %w", want, what, len(found), err)
	}
	return nil
}

// Create creates apps with their namespaces and PodDisruptionBudgets. It returns when all pods are
// ready and all budgets have counted them.
func (c *Cluster) Create(ctx context.Context, apps []App) error {
	namespaces := map[string]bool{}
	var bound []*corev1.Pod
	for _, app := range apps {
		if !namespaces[app.Namespace] {
			namespaces[app.Namespace] = true
			object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Namespace}}
			if _, err := c.Clients.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create namespace %s: %w", app.Namespace, err)
			}
		}
		if app.Replicas == 0 {
			bound = append(bound, app.boundPods()...)
		}
	}
	if err := c.createPods(ctx, bound); err != nil {
		return err
	}
	owned, bare, err := c.createOwners(ctx, apps)
	if err != nil {
		return err
	}
	guards, pods := budgets(apps)
	for _, budget := range guards {
		if _, err := c.Clients.PolicyV1().PodDisruptionBudgets(budget.Namespace).Create(ctx, budget, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create PodDisruptionBudget %s: %w", budget.Name, err)
		}
	}
	scope := scopeOf(apps)
	return errors.Join(
		Await(ctx, c, c.Clients.AppsV1().RESTClient(), "replicasets", scope, &appsv1.ReplicaSet{}, "ReplicaSets are ready", owned, func(r *appsv1.ReplicaSet) bool {
			return r.Status.ObservedGeneration == r.Generation && r.Status.Replicas == *r.Spec.Replicas && r.Status.ReadyReplicas == *r.Spec.Replicas
		}),
		Await(ctx, c, c.Clients.CoreV1().RESTClient(), "pods", scope, &corev1.Pod{}, "pods are running", bare, func(p *corev1.Pod) bool {
			return p.Status.Phase == corev1.PodRunning && p.Labels[appLabel] != ""
		}),
		Await(ctx, c, c.Clients.PolicyV1().RESTClient(), "poddisruptionbudgets", scope, &policyv1.PodDisruptionBudget{}, "PodDisruptionBudgets have counted their pods", len(guards), func(b *policyv1.PodDisruptionBudget) bool {
			want := int32(pods[b.Namespace+"/"+b.Name])
			return b.Status.ObservedGeneration == b.Generation && b.Status.ExpectedPods == want && b.Status.CurrentHealthy == want &&
				b.Status.DisruptionsAllowed == b.Spec.MaxUnavailable.IntVal
		}),
	)
}

// scopeOf returns the namespace of apps, or all if there are several.
func scopeOf(apps []App) string {
	for _, app := range apps {
		if app.Namespace != apps[0].Namespace {
			return metav1.NamespaceAll
		}
	}
	return apps[0].Namespace
}

func (c *Cluster) createPods(ctx context.Context, pods []*corev1.Pod) error {
	const period = 1000
	var created atomic.Int32
	creating, ctx := errgroup.WithContext(ctx)
	creating.SetLimit(sideBySide)
	for _, pod := range pods {
		creating.Go(func() error {
			if _, err := c.Clients.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create pod %s: %w", pod.Name, err)
			}
			if n := created.Add(1); n%period == 0 {
				c.Printf("%d of %d pods are created", n, len(pods))
			}
			return nil
		})
	}
	return creating.Wait()
}

// createOwners creates the Deployments and ReplicaSets. It returns how many ReplicaSets there
// will be, and how many pods on nodes have none.
func (c *Cluster) createOwners(ctx context.Context, apps []App) (owned, bare int, err error) {
	for _, app := range apps {
		switch {
		case app.Replicas > 0:
			_, err = c.Clients.AppsV1().Deployments(app.Namespace).Create(ctx, app.deployment(), metav1.CreateOptions{})
			owned++
		case !app.Bare:
			_, err = c.Clients.AppsV1().ReplicaSets(app.Namespace).Create(ctx, app.replicaSet(), metav1.CreateOptions{})
			owned++
		case app.Nodes[0] != "":
			bare += len(app.Nodes)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("create the owner of the pods of %s: %w", app.Name, err)
		}
	}
	return owned, bare, nil
}

// PodsOn returns the pods of a namespace on a node.
func (c *Cluster) PodsOn(ctx context.Context, namespace, node string) ([]corev1.Pod, error) {
	selected := fields.OneTermEqualSelector("spec.nodeName", node).String()
	list, err := c.Clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: selected})
	if err != nil {
		return nil, fmt.Errorf("list the pods on %s: %w", node, err)
	}
	return list.Items, nil
}

// MakeSchedulable uncordons nodes.
func (c *Cluster) MakeSchedulable(ctx context.Context, nodes []string) error {
	for _, node := range nodes {
		schedulable := []byte(`{"spec":{"unschedulable":null}}`)
		if _, err := c.Clients.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, schedulable, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("uncordon %s: %w", node, err)
		}
	}
	return c.AwaitSchedulable(ctx, nodes)
}

// AwaitSchedulable returns when nodes are uncordoned and have no taints.
func (c *Cluster) AwaitSchedulable(ctx context.Context, nodes []string) error {
	wanted := map[string]bool{}
	for _, node := range nodes {
		wanted[node] = true
	}
	return Await(ctx, c, c.Clients.CoreV1().RESTClient(), "nodes", "", &corev1.Node{}, "nodes are schedulable", len(wanted), func(n *corev1.Node) bool {
		return wanted[n.Name] && !n.Spec.Unschedulable && len(n.Spec.Taints) == 0
	})
}

// Remove removes the apps of a namespace, without time to terminate, and returns when the namespace is deleted. It
// deletes pods app by app: one request for the pods of a fleet takes the API server too long.
func (c *Cluster) Remove(ctx context.Context, namespace string, apps []App) error {
	background, now := metav1.DeletePropagationBackground, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	later := metav1.DeleteOptions{PropagationPolicy: &background}
	errs := []error{
		c.Clients.AppsV1().Deployments(namespace).DeleteCollection(ctx, later, metav1.ListOptions{}),
		c.Clients.AppsV1().ReplicaSets(namespace).DeleteCollection(ctx, later, metav1.ListOptions{}),
	}
	for _, app := range apps {
		of := metav1.ListOptions{LabelSelector: appLabel + "=" + app.Name}
		errs = append(errs, c.Clients.CoreV1().Pods(namespace).DeleteCollection(ctx, now, of))
	}
	errs = append(errs, c.Clients.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the workload of %s: %w", namespace, err)
	}
	selected := fields.OneTermEqualSelector("metadata.name", namespace)
	lister := cache.NewListWatchFromClient(c.Clients.CoreV1().RESTClient(), "namespaces", "", selected)
	_, err := watchtools.UntilWithSync(ctx, lister, &corev1.Namespace{}, func(store cache.Store) (bool, error) {
		return len(store.List()) == 0, nil
	}, func(e watch.Event) (bool, error) { return e.Type == watch.Deleted, nil })
	if err != nil {
		return fmt.Errorf("wait for the deletion of namespace %s: %w", namespace, err)
	}
	return nil
}
