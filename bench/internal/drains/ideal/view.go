// SPDX-License-Identifier: Apache-2.0

package ideal

import (
	"context"
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

// view is what the watches show.
type view struct {
	// changed has room for one word: that there is something new to look at.
	changed chan struct{}
	nodes   []cache.SharedInformer
	guards  cache.SharedInformer
	running sync.WaitGroup

	mu sync.Mutex
	// disrupted are the pods that some version of a budget has named as evicted: the API
	// server enters each, and the controller takes it out again soon.
	disrupted map[string]bool
}

// watch begins to watch, until ctx ends.
func watch(ctx context.Context, clients kubernetes.Interface, namespace string, nodes []string) *view {
	v := &view{changed: make(chan struct{}, 1), disrupted: map[string]bool{}}
	for _, node := range nodes {
		v.nodes = append(v.nodes, v.follow(ctx, clients.CoreV1().RESTClient(), "pods", namespace, &corev1.Pod{},
			fields.OneTermEqualSelector("spec.nodeName", node)))
	}
	v.guards = v.follow(ctx, clients.PolicyV1().RESTClient(), "poddisruptionbudgets", namespace,
		&policyv1.PodDisruptionBudget{}, fields.Everything())
	return v
}

func (v *view) follow(ctx context.Context, client rest.Interface, resource, namespace string, example runtime.Object, selected fields.Selector) cache.SharedInformer {
	informer := cache.NewSharedInformer(cache.NewListWatchFromClient(client, resource, namespace, selected), example, 0)
	// It cannot fail before the informer has run.
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

// counted says whether the pod's budget has shown its eviction.
func (v *view) counted(pod string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.disrupted[pod]
}

// wait returns when all watches have ended.
func (v *view) wait() { v.running.Wait() }

// synced returns when all is known that there is, or false if ctx has ended before.
func (v *view) synced(ctx context.Context) bool {
	known := []cache.InformerSynced{v.guards.HasSynced}
	for _, node := range v.nodes {
		known = append(known, node.HasSynced)
	}
	return cache.WaitForCacheSync(ctx.Done(), known...)
}

// pods are those on the nodes, terminating ones included.
func (v *view) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, node := range v.nodes {
		for _, object := range node.GetStore().List() {
			pods = append(pods, object.(*corev1.Pod))
		}
	}
	return pods
}

func (v *view) budgets() []*policyv1.PodDisruptionBudget {
	var budgets []*policyv1.PodDisruptionBudget
	for _, object := range v.guards.GetStore().List() {
		budgets = append(budgets, object.(*policyv1.PodDisruptionBudget))
	}
	return budgets
}

// guard is the budget that selects the pod; nil if none does.
func guard(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			return b
		}
	}
	return nil
}
