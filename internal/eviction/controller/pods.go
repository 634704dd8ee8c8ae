// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	"github.com/slipway-k8s/slipway/internal/platform/loop"
)

// podWatches watches the pods of namespaces with requests, and no other pods.
type podWatches struct {
	clients kubernetes.Interface
	changed func(types.NamespacedName)
	ready   func(namespace string) // the watch knows all pods of the namespace

	mu    sync.Mutex
	watch map[string]podWatch // by namespace
}

type podWatch struct {
	*loop.Watches
	pods cache.SharedIndexInformer
}

// get returns the pod; nil if it does not exist. known is false until the watch knows all pods of the namespace; then
// it calls ready. The watch ends with ctx at the latest.
func (w *podWatches) get(ctx context.Context, pod types.NamespacedName) (found *corev1.Pod, known bool, err error) {
	in, err := w.follow(ctx, pod.Namespace)
	if err != nil || !in.Synced() {
		return nil, false, err
	}
	obj, exists, err := in.pods.GetIndexer().GetByKey(pod.String())
	if err != nil || !exists {
		return nil, err == nil, err
	}
	return obj.(*corev1.Pod), true, nil
}

// follow watches a namespace.
func (w *podWatches) follow(ctx context.Context, namespace string) (podWatch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if in, ok := w.watch[namespace]; ok {
		return in, nil
	}
	factory := informers.NewSharedInformerFactoryWithOptions(w.clients, 0,
		informers.WithNamespace(namespace), informers.WithTransform(slim))
	pods := factory.Core().V1().Pods().Informer()
	watches, err := loop.Watch(ctx, factory, func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok {
			w.changed(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
		}
	}, func() { w.ready(namespace) }, pods)
	if err != nil {
		return podWatch{}, fmt.Errorf("watch the pods of namespace %s: %w", namespace, err)
	}
	w.watch[namespace] = podWatch{watches, pods}
	return w.watch[namespace], nil
}

// leave ends the watch of a namespace.
func (w *podWatches) leave(namespace string) {
	w.mu.Lock()
	in, ok := w.watch[namespace]
	delete(w.watch, namespace)
	w.mu.Unlock()
	if ok {
		in.Close()
	}
}

// close ends all watches.
func (w *podWatches) close() {
	for namespace := range maps.Clone(w.watch) { // all workers have ended
		w.leave(namespace)
	}
}

// slim keeps of a pod the fields that decisions need.
func slim(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp, Labels: pod.Labels, OwnerReferences: pod.OwnerReferences,
		},
		Spec:   corev1.PodSpec{EvictionResponders: pod.Spec.EvictionResponders, SchedulingGroup: pod.Spec.SchedulingGroup},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}
	for _, key := range []string{evictionrequest.AnnotationResponders, surge.AnnotationHash} {
		if text, ok := pod.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&kept.ObjectMeta, key, text)
		}
	}
	return kept, nil
}
