// SPDX-License-Identifier: Apache-2.0

package ideal

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// view is the state that the watches show.
type view struct {
	// changed has room for one value: there is something new to look at.
	changed       chan struct{}
	onNodes, pdbs cache.SharedInformer
	nodes         []string
	running       sync.WaitGroup

	mu sync.Mutex
	// disrupted are the pods that some version of a budget has named as evicted: the API
	// server enters each, and the disruption controller removes it soon.
	disrupted map[string]bool
}

// watch begins to watch, until ctx ends.
func watch(ctx context.Context, clients kubernetes.Interface, namespace string, nodes []string) *view {
	v := &view{changed: make(chan struct{}, 1), disrupted: map[string]bool{}, nodes: nodes}
	v.onNodes = v.follow(ctx, clients.CoreV1().RESTClient(), "pods", namespace, &corev1.Pod{})
	v.pdbs = v.follow(ctx, clients.PolicyV1().RESTClient(), "poddisruptionbudgets", namespace, &policyv1.PodDisruptionBudget{})
	return v
}

func (v *view) follow(ctx context.Context, client rest.Interface, resource, namespace string, example runtime.Object) cache.SharedInformer {
	informer := cache.NewSharedInformer(cache.NewListWatchFromClient(client, resource, namespace, fields.Everything()), example, 0)
	// It cannot fail before the informer runs.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: v.saw, UpdateFunc: func(_, object any) { v.saw(object) }, DeleteFunc: v.saw,
	})
	v.running.Go(func() { informer.RunWithContext(ctx) })
	return informer
}

// saw takes in one version of an object.
func (v *view) saw(object any) {
	if budget, ok := object.(*policyv1.PodDisruptionBudget); ok {
		v.mu.Lock()
		for pod := range budget.Status.DisruptedPods {
			v.disrupted[pod] = true
		}
		v.mu.Unlock()
	}
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

// counted reports whether the pod's budget has shown its eviction.
func (v *view) counted(pod string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.disrupted[pod]
}

// synced returns when the first lists are known, or false if ctx has ended before.
func (v *view) synced(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), v.onNodes.HasSynced, v.pdbs.HasSynced)
}

// pods returns those on the nodes, terminating ones included.
func (v *view) pods() (pods []*corev1.Pod) {
	for _, object := range v.onNodes.GetStore().List() {
		if pod := object.(*corev1.Pod); slices.Contains(v.nodes, pod.Spec.NodeName) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (v *view) budgets() (budgets []*policyv1.PodDisruptionBudget) {
	for _, object := range v.pdbs.GetStore().List() {
		budgets = append(budgets, object.(*policyv1.PodDisruptionBudget))
	}
	return budgets
}

// guard returns the budget that selects the pod, or nil.
func guard(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			return b
		}
	}
	return nil
}
