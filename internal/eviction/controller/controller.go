// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// workers is how many pods are worked on at a time.
	workers = 8

	// The backoff after errors, which are those of API requests.
	errorBackoffBase = 50 * time.Millisecond
	errorBackoffCap  = 30 * time.Second
)

// Controller is the evictionrequest-controller.
type Controller struct {
	clients kubernetes.Interface
	clock   clock.WithTicker

	queue     workqueue.TypedRateLimitingInterface[types.NamespacedName]
	requests  cache.SharedIndexInformer
	evictions cache.SharedIndexInformer
	pods      *podWatches
	written   *memory
	extra     []extra

	yield   sync.Once
	yielded chan struct{}
}

// Applies tells whether a responder is for a pod that does not name it.
type Applies func(ctx context.Context, pod *corev1.Pod) (bool, error)

// extra is a responder for the pods that it says.
type extra struct {
	responder corev1.EvictionResponder
	applies   Applies
}

// Option is a setting that a controller need not have.
type Option func(*Controller)

// WithResponder gives a responder to the pods for which it applies, besides those that
// they name. It is asked when an Eviction begins; the pod that it is asked about has its
// metadata and no more. If it fails, the Eviction does not begin until it does not.
func WithResponder(r corev1.EvictionResponder, applies Applies) Option {
	return func(c *Controller) { c.extra = append(c.extra, extra{r, applies}) }
}

// New returns a controller that acts with the given credentials. It makes no request.
func New(config *rest.Config, c clock.WithTicker, options ...Option) (*Controller, error) {
	config = rest.CopyConfig(config)
	config.ContentType = "application/json" // CRDs know nothing else
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for EvictionRequests: %w", err)
	}
	controller := &Controller{clients: clients, clock: c, written: newMemory(), yielded: make(chan struct{})}
	for _, option := range options {
		option(controller)
	}
	return controller, nil
}

// Yielded is closed when Kubernetes' own controller is seen at work. This one does nothing
// any more then, and neither may the responder that comes last: there are others.
func (c *Controller) Yielded() <-chan struct{} { return c.yielded }

// Run works until ctx ends, or until it has yielded. It leaves nothing running.
func (c *Controller) Run(ctx context.Context) error {
	c.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](errorBackoffBase, errorBackoffCap),
		workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "evictionrequests", Clock: c.clock})
	factory := informers.NewSharedInformerFactoryWithOptions(c.clients, 0, informers.WithTransform(c.taken))
	api := factory.Lifecycle().V1alpha1()
	c.requests, c.evictions = api.EvictionRequests().Informer(), api.Evictions().Informer()
	if err := errors.Join(c.watch(c.requests), c.watch(c.evictions)); err != nil {
		return fmt.Errorf("watch EvictionRequests: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	go func() {
		select {
		case <-c.yielded:
			log.FromContext(ctx).Info("Kubernetes' own evictionrequest-controller is at work; standing down until the next start")
			stop()
		case <-ctx.Done():
		}
	}()
	defer factory.Shutdown()
	defer stop()
	c.pods = newPodWatches(ctx, c.clients, c.podChanged)
	defer c.pods.close()
	factory.StartWithContext(ctx)
	if cache.WaitForCacheSync(ctx.Done(), c.requests.HasSynced, c.evictions.HasSynced) {
		c.work(ctx)
	}
	return nil
}

// work lets the workers run until ctx ends.
func (c *Controller) work(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for c.pass(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
}

// pass works on the next pod in the queue. It is false when the queue is shut down.
func (c *Controller) pass(ctx context.Context) bool {
	pod, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(pod)
	wake, err := c.reconcile(ctx, pod)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errGoing):
		c.queue.Forget(pod)
	case errors.Is(err, errStale):
		c.queue.AddRateLimited(pod)
	case err != nil:
		log.FromContext(ctx).Error(err, "Failed; trying again", "pod", pod)
		c.queue.AddRateLimited(pod)
	default:
		c.queue.Forget(pod)
		if !wake.IsZero() {
			c.queue.AddAfter(pod, max(0, wake.Sub(c.clock.Now())))
		}
	}
	return true
}
