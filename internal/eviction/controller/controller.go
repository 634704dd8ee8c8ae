// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/internal/platform/loop"
	"github.com/slipway-k8s/slipway/internal/platform/ownwrites"
	"github.com/slipway-k8s/slipway/internal/platform/quota"
)

// workers limits the pods that are processed in parallel.
const workers = 8

// nativePeriod is the time between two questions whether the API server serves Evictions itself.
const nativePeriod = time.Second

// byPod is the index of requests and Evictions by the namespace and name of their pod.
const byPod = "pod"

// Controller is the evictionrequest-controller.
type Controller struct {
	clients kubernetes.Interface
	clock   clock.WithTicker
	loop    *loop.Loop[types.NamespacedName] // by pod

	requests  ownwrites.Informer[*evictionv1alpha1.EvictionRequest]
	evictions ownwrites.Informer[*evictionv1alpha1.Eviction]
	pods      *podWatches
	extra     []Responder
	left      func()

	// ended has the targets of a pod's name that were seen deleted or completed, and when. One worker at a time has
	// a name.
	ended sync.Map // types.NamespacedName to map[types.UID]time.Time
}

// Applies reports whether a responder is for a pod that does not name it.
type Applies func(ctx context.Context, pod *corev1.Pod) (bool, error)

// Responder is a responder for the pods to which it applies. The controller calls Applies at the beginning of an
// Eviction, with a pod that has only its metadata. The Eviction does not begin before Applies succeeds.
type Responder struct {
	corev1.EvictionResponder
	Applies Applies
}

// New returns a controller that acts with the given credentials, with extra responders. It sends no request. It calls left
// for each decision that leaves an Eviction to Kubernetes' own controller.
func New(config *rest.Config, c clock.WithTicker, left func(), extra ...Responder) (*Controller, error) {
	config = rest.CopyConfig(config)
	config.ContentType = "application/json" // CRDs know no other
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for EvictionRequests: %w", err)
	}
	return &Controller{clients: clients, clock: c, left: left, extra: extra}, nil
}

// Run works until ctx ends. It leaves no goroutine running.
func (c *Controller) Run(ctx context.Context) (err error) {
	if c.loop, err = loop.New(ctx, "evictionrequests", "pod", workers, c.clock, c); err != nil {
		return err
	}
	defer c.loop.Close()
	native, err := c.isNative(ctx)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(c.clients, 0, informers.WithTransform(transform(native)))
	api := factory.Lifecycle().V1alpha1()
	var errRequests, errEvictions error
	c.requests, errRequests = ownwrites.NewInformer(factory.InformerFor(&evictionv1alpha1.EvictionRequest{}, newRequestInformer), indexes[*evictionv1alpha1.EvictionRequest]())
	c.evictions, errEvictions = ownwrites.NewInformer(api.Evictions().Informer(), indexes[*evictionv1alpha1.Eviction]())
	if err := errors.Join(errRequests, errEvictions); err != nil {
		return err
	}
	c.pods = &podWatches{clients: c.clients, changed: c.podChanged, ready: c.wakeAll, watch: map[string]podWatch{}}
	defer c.pods.close()
	watches, err := loop.Watch(ctx, factory, c.changed, nil, c.requests, c.evictions)
	if err != nil {
		return fmt.Errorf("watch EvictionRequests: %w", err)
	}
	defer watches.Close()
	if !watches.WaitForSync(ctx) {
		return nil
	}
	return c.loop.Run(ctx)
}

func newRequestInformer(clients kubernetes.Interface, _ time.Duration) cache.SharedIndexInformer {
	requests := clients.LifecycleV1alpha1().EvictionRequests(metav1.NamespaceAll)
	limit := quota.Limit{Kind: "EvictionRequest", Most: evictionrequest.MaxRequests, Group: quota.Namespace}
	return quota.NewInformer(limit, &evictionv1alpha1.EvictionRequest{}, clients, requests.List, requests.Watch)
}

// targetOf returns the pod of an EvictionRequest or an Eviction.
func targetOf(obj any) (pod types.NamespacedName, uid types.UID, ok bool) {
	switch o := obj.(type) {
	case *evictionv1alpha1.EvictionRequest:
		if t := o.Spec.Target.Pod; t != nil {
			return types.NamespacedName{Namespace: o.Namespace, Name: t.Name}, t.UID, true
		}
	case *evictionv1alpha1.Eviction:
		if t := o.Spec.Target.Pod; t != nil {
			return types.NamespacedName{Namespace: o.Namespace, Name: t.Name}, t.UID, true
		}
	}
	return types.NamespacedName{}, "", false
}

func indexes[T ownwrites.Object]() map[string]func(T) []string {
	return map[string]func(T) []string{byPod: func(o T) []string {
		if pod, _, ok := targetOf(o); ok {
			return []string{pod.String()}
		}
		return nil
	}}
}

// changed queues the pod of an object.
func (c *Controller) changed(obj any) {
	if pod, _, ok := targetOf(obj); ok {
		c.loop.Add(pod)
	}
}

// podChanged queues a pod that a request names.
func (c *Controller) podChanged(pod types.NamespacedName) {
	if c.hasRequests(byPod, pod.String()) {
		c.loop.Add(pod)
	}
}

// wakeAll queues all pods of a namespace that requests name.
func (c *Controller) wakeAll(namespace string) {
	objects, err := c.requests.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		return
	}
	for _, o := range objects {
		c.changed(o)
	}
}

func (c *Controller) hasRequests(index, value string) bool {
	keys, err := c.requests.GetIndexer().IndexKeys(index, value)
	return err == nil && len(keys) > 0
}

// isNative returns whether the API server serves Evictions itself, when it answers. Kubernetes' own controller writes no Evictions
// of a CRD: then a client that writes under the name of that controller is not believed.
func (c *Controller) isNative(ctx context.Context) (native bool, err error) {
	complaint := ""
	err = wait.PollUntilContextCancel(ctx, nativePeriod, true, func(ctx context.Context) (bool, error) {
		native, err = apigroup.IsNative(ctx, c.clients.LifecycleV1alpha1().RESTClient(), evictionv1alpha1.SchemeGroupVersion.WithResource("evictions"))
		if err != nil && err.Error() != complaint {
			complaint = err.Error()
			log.FromContext(ctx).Info("Cannot find out whether the API server serves Evictions itself; trying again", "reason", complaint)
		}
		return err == nil, nil
	})
	if ctx.Err() != nil {
		return false, nil // the process ends
	}
	return native, err
}

// transform drops the metadata that decisions do not need.
func transform(native bool) cache.TransformFunc {
	return func(obj any) (any, error) {
		if e, is := obj.(*evictionv1alpha1.Eviction); is && native {
			evictionrequest.KeepLeader(e)
		} else if o, is := obj.(metav1.Object); is {
			o.SetManagedFields(nil)
		}
		if r, is := obj.(*evictionv1alpha1.EvictionRequest); is {
			r.Annotations, r.Labels, r.OwnerReferences = nil, nil, nil
		}
		return obj, nil
	}
}

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
