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

// workers limits the pods that are processed in parallel.
const workers = 8

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
	extra     []extra

	yield   sync.Once
	yielded chan struct{}
}

// Applies reports whether a responder is for a pod that does not name it.
type Applies func(ctx context.Context, pod *corev1.Pod) (bool, error)

// extra is a responder for the pods to which it applies.
type extra struct {
	responder corev1.EvictionResponder
	applies   Applies
}

// Option is an optional setting of a controller.
type Option func(*Controller)

// WithResponder adds a responder for the pods to which it applies. The controller calls applies at the beginning of an
// Eviction, with a pod that has only its metadata. The Eviction does not begin before applies succeeds.
func WithResponder(r corev1.EvictionResponder, applies Applies) Option {
	return func(c *Controller) { c.extra = append(c.extra, extra{r, applies}) }
}

// New returns a controller that acts with the given credentials. It sends no request.
func New(config *rest.Config, c clock.WithTicker, options ...Option) (*Controller, error) {
	config = rest.CopyConfig(config)
	config.ContentType = "application/json" // CRDs know no other
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

// Yielded is closed when Kubernetes' own controller works. Then this controller stops, and the last responder must
// stop, too: Kubernetes has another one.
func (c *Controller) Yielded() <-chan struct{} { return c.yielded }

// Run works until ctx ends, or until it has yielded. It leaves no goroutine running.
func (c *Controller) Run(ctx context.Context) (err error) {
	if c.loop, err = loop.New(ctx, "evictionrequests", "pod", workers, c.clock, c); err != nil {
		return err
	}
	defer c.loop.Close()
	factory := informers.NewSharedInformerFactoryWithOptions(c.clients, 0, informers.WithTransform(c.transform))
	api := factory.Lifecycle().V1alpha1()
	var errRequests, errEvictions error
	c.requests, errRequests = ownwrites.NewInformer(api.EvictionRequests().Informer(), indexes[*evictionv1alpha1.EvictionRequest]())
	c.evictions, errEvictions = ownwrites.NewInformer(api.Evictions().Informer(), indexes[*evictionv1alpha1.Eviction]())
	if err := errors.Join(errRequests, errEvictions); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-c.yielded:
			log.FromContext(ctx).Info("Kubernetes' own evictionrequest-controller works; standing down until the next start")
			stop()
		case <-ctx.Done():
		}
	}()
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

// transform drops the managed fields of an object after it has looked for Kubernetes' own controller in them.
func (c *Controller) transform(obj any) (any, error) {
	if e, ok := obj.(*evictionv1alpha1.Eviction); ok && evictionrequest.IsOfKubernetes(e, c.clock.Now()) {
		c.yield.Do(func() { close(c.yielded) })
	}
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
