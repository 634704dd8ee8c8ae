// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// The indexes: pods by the UID of the ReplicaSet that controls them; those with our marks;
// Evictions by the UID of the pod.
const (
	byOwner = "owner"
	marked  = "marked"
	byPod   = "pod"
)

// watches are what is watched of a namespace.
type watches struct {
	factory informers.SharedInformerFactory
	changed func()
	synced  []cache.InformerSynced

	pods, replicaSets, deployments, services, budgets, evictions cache.SharedIndexInformer
}

func newWatches(clients kubernetes.Interface, namespace string, changed func()) *watches {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace), informers.WithTransform(slim))
	apps := factory.Apps().V1()
	w := &watches{
		factory: factory, changed: changed,
		pods:        factory.Core().V1().Pods().Informer(),
		replicaSets: apps.ReplicaSets().Informer(),
		deployments: apps.Deployments().Informer(),
		services:    factory.Core().V1().Services().Informer(),
		budgets:     factory.Policy().V1().PodDisruptionBudgets().Informer(),
		evictions:   factory.Lifecycle().V1alpha1().Evictions().Informer(),
	}
	return w
}

// start begins to watch. It is false if ctx ends before all is known.
func (w *watches) start(ctx context.Context) bool {
	if err := w.index(); err != nil {
		return false // it has been started, which it has not
	}
	for _, informer := range []cache.SharedIndexInformer{w.pods, w.replicaSets, w.deployments, w.services, w.budgets, w.evictions} {
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.changed() },
			UpdateFunc: func(any, any) { w.changed() },
			DeleteFunc: func(any) { w.changed() },
		})
		if err != nil {
			return false
		}
		w.synced = append(w.synced, registration.HasSynced)
	}
	w.factory.StartWithContext(ctx)
	return cache.WaitForCacheSync(ctx.Done(), w.synced...)
}

func (w *watches) index() error {
	return errors.Join(
		w.pods.AddIndexers(cache.Indexers{byOwner: ownerOf, marked: whetherMarked}),
		w.evictions.AddIndexers(cache.Indexers{byPod: podOf}),
	)
}

func (w *watches) shutdown() { w.factory.Shutdown() }

func ownerOf(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		if owner := surge.ReplicaSetOf(pod); owner != nil {
			return []string{string(owner.UID)}, nil
		}
	}
	return nil, nil
}

func whetherMarked(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && surge.Marked(pod) {
		return []string{marked}, nil
	}
	return nil, nil
}

func podOf(obj any) ([]string, error) {
	if e, ok := obj.(*evictionv1alpha1.Eviction); ok && e.Spec.Target.Pod != nil {
		return []string{string(e.Spec.Target.Pod.UID)}, nil
	}
	return nil, nil
}

// slim keeps of a pod what is decided on, and of others all but who wrote what.
func slim(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		if o, ok := obj.(metav1.Object); ok {
			o.SetManagedFields(nil)
		}
		return obj, nil
	}
	pod.ManagedFields = nil
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions}
	return pod, nil
}
