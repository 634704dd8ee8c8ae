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

// podWatches watches the pods of namespaces in which there are requests, and of no others.
type podWatches struct {
	clients kubernetes.Interface
	changed func(types.NamespacedName)
	ready   func(namespace string) // all pods of the namespace are known

	mu    sync.Mutex
	watch map[string]podWatch // by namespace
}

type podWatch struct {
	*loop.Watches
	pods cache.SharedIndexInformer
}

func newPodWatches(clients kubernetes.Interface, changed func(types.NamespacedName), ready func(string)) *podWatches {
	return &podWatches{clients: clients, changed: changed, ready: ready, watch: map[string]podWatch{}}
}

// get returns the pod, or nil if there is none. known is false until all pods of the namespace are known, of which
// ready then tells. The watch ends with ctx at the latest.
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

// follow begins to watch a namespace, unless it is watched already.
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
	for namespace := range maps.Clone(w.watch) { // nothing else works on them any more
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
