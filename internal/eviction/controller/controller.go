// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/internal/platform/loop"
	"github.com/slipway-k8s/slipway/internal/platform/ownwrites"
)

// workers is how many pods are worked on at a time.
const workers = 8

// Controller is the evictionrequest-controller.
type Controller struct {
	clients kubernetes.Interface
	clock   clock.WithTicker
	loop    *loop.Loop[types.NamespacedName] // by pod

	requests  objects[*evictionv1alpha1.EvictionRequest]
	evictions objects[*evictionv1alpha1.Eviction]
	pods      *podWatches
	extra     []extra

	yield   sync.Once
	yielded chan struct{}
}

// objects are the objects of one kind, and what was written to them.
type objects[T ownwrites.Object] struct {
	informer cache.SharedIndexInformer
	written  *ownwrites.Writes[T]
}

func objectsOf[T ownwrites.Object](informer cache.SharedIndexInformer) objects[T] {
	return objects[T]{informer, ownwrites.New[T](informer.GetIndexer())}
}

// about returns the objects about pods of that name, in their newest versions.
func (o objects[T]) about(pod types.NamespacedName) ([]T, error) {
	return o.written.ByIndex(o.informer.GetIndexer(), byPod, pod.String())
}

// Applies says whether a responder is for a pod that does not name it.
type Applies func(ctx context.Context, pod *corev1.Pod) (bool, error)

// extra is a responder for the pods to which it applies.
type extra struct {
	responder corev1.EvictionResponder
	applies   Applies
}

// Option is an optional setting of a controller.
type Option func(*Controller)

// WithResponder adds a responder to those that pods name, for the pods to which it applies. applies is called
// when an Eviction begins, with a pod that has only its metadata. The Eviction does not begin before applies
// succeeds.
func WithResponder(r corev1.EvictionResponder, applies Applies) Option {
	return func(c *Controller) { c.extra = append(c.extra, extra{r, applies}) }
}

// New returns a controller that acts with the given credentials. It sends no request.
func New(config *rest.Config, c clock.WithTicker, options ...Option) (*Controller, error) {
	config = rest.CopyConfig(config)
	config.ContentType = "application/json" // CRDs know nothing else
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for EvictionRequests: %w", err)
	}
	controller := &Controller{clients: clients, clock: c, yielded: make(chan struct{})}
	for _, option := range options {
		option(controller)
	}
	return controller, nil
}

// Yielded is closed when Kubernetes' own controller is at work. Then this controller stops, and the responder
// that comes last must stop, too: Kubernetes has its own.
func (c *Controller) Yielded() <-chan struct{} { return c.yielded }

// Run works until ctx ends, or until it has yielded. It leaves nothing running.
func (c *Controller) Run(ctx context.Context) error {
	var err error
	if c.loop, err = loop.New(ctx, "evictionrequests", "pod", workers, c.clock, c); err != nil {
		return err
	}
	defer c.loop.Close()
	factory := informers.NewSharedInformerFactoryWithOptions(c.clients, 0, informers.WithTransform(c.transform))
	api := factory.Lifecycle().V1alpha1()
	c.requests = objectsOf[*evictionv1alpha1.EvictionRequest](api.EvictionRequests().Informer())
	c.evictions = objectsOf[*evictionv1alpha1.Eviction](api.Evictions().Informer())
	if err := errors.Join(index(c.requests.informer), index(c.evictions.informer)); err != nil {
		return fmt.Errorf("index EvictionRequests: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-c.yielded:
			log.FromContext(ctx).Info("Kubernetes' own evictionrequest-controller is at work; standing down until the next start")
			stop()
		case <-ctx.Done():
		}
	}()
	c.pods = newPodWatches(c.clients, c.podChanged, c.wakeAll)
	defer c.pods.close()
	watches, err := loop.Watch(ctx, factory, c.changed, nil, c.requests.informer, c.evictions.informer)
	if err != nil {
		return fmt.Errorf("watch EvictionRequests: %w", err)
	}
	defer watches.Close()
	if !watches.WaitForSync(ctx) {
		return nil
	}
	return c.loop.Run(ctx)
}

// byPod is the index of requests and Evictions by the namespace and name of their pod.
const byPod = "pod"

// targetOf returns the pod that an EvictionRequest or an Eviction is about.
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

// index indexes the objects of an informer by their pods.
func index(informer cache.SharedIndexInformer) error {
	return informer.AddIndexers(cache.Indexers{byPod: func(obj any) ([]string, error) {
		pod, _, ok := targetOf(obj)
		if !ok {
			return nil, nil
		}
		return []string{pod.String()}, nil
	}})
}

// changed has the pod reconciled that an object is about.
func (c *Controller) changed(obj any) {
	if pod, _, ok := targetOf(obj); ok {
		c.loop.Add(pod)
	}
}

// podChanged has a pod reconciled if a request names it.
func (c *Controller) podChanged(pod types.NamespacedName) {
	if keys, err := c.requests.informer.GetIndexer().IndexKeys(byPod, pod.String()); err == nil && len(keys) > 0 {
		c.loop.Add(pod)
	}
}

// wakeAll has all pods of a namespace reconciled that requests name.
func (c *Controller) wakeAll(namespace string) {
	objects, err := c.requests.informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		return
	}
	for _, o := range objects {
		c.changed(o)
	}
}

// hasRequests says whether there are requests in a namespace.
func (c *Controller) hasRequests(namespace string) bool {
	keys, err := c.requests.informer.GetIndexer().IndexKeys(cache.NamespaceIndex, namespace)
	return err == nil && len(keys) > 0
}

// transform drops the managed fields of an object, which are looked at once: they tell whether Kubernetes' own
// controller is at work.
func (c *Controller) transform(obj any) (any, error) {
	if e, ok := obj.(*evictionv1alpha1.Eviction); ok && evictionrequest.IsOfKubernetes(e, c.clock.Now()) {
		c.yield.Do(func() { close(c.yielded) })
	}
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
