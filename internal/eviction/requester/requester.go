// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

const (
	// workers is how many events are worked on at a time, and sideBySide how many requests
	// for each: a node with many pods waits for none of the others.
	workers    = 4
	sideBySide = 16

	// The backoff after errors, which are those of API requests.
	errorBackoffBase = 50 * time.Millisecond
	errorBackoffCap  = 30 * time.Second

	// eventUID is the index of the events by their UIDs.
	eventUID = "uid"
)

// Responds says whether anybody responds to the eviction of a pod, besides the responder
// that comes last for every pod.
type Responds func(context.Context, *corev1.Pod) (bool, error)

// ByPod asks nobody but the pod: its spec, or its annotation. An annotation that is wrong
// names nobody.
func ByPod(_ context.Context, pod *corev1.Pod) (bool, error) {
	all, err := evictionrequest.RespondersOf(pod)
	return err == nil && len(all) > 0, nil
}

// Options of a [Requester]. All are required.
type Options struct {
	// Self are the credentials.
	Self *rest.Config
	// Events has all LifecycleEvents, and runs while the Requester does.
	Events cache.Cache
	// Live reads LifecycleEvents from the API server.
	Live  client.Reader
	Clock clock.WithTicker
	// Responds decides which of the pods that an event names are asked for.
	Responds Responds
}

// Requester asks for evictions.
type Requester struct {
	events   cache.Cache
	live     client.Reader
	clock    clock.WithTicker
	responds Responds
	clients  kubernetes.Interface

	queue    workqueue.TypedRateLimitingInterface[types.UID]
	requests toolscache.SharedIndexInformer
	written  *memory
	pods     *pods
}

// New returns a Requester. It makes no request.
func New(ctx context.Context, o Options) (*Requester, error) {
	config := rest.CopyConfig(o.Self)
	config.ContentType = "application/json" // CRDs know nothing else
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for EvictionRequests: %w", err)
	}
	index := func(e client.Object) []string { return []string{string(e.GetUID())} }
	if err := o.Events.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, eventUID, index); err != nil {
		return nil, fmt.Errorf("index the events by UID: %w", err)
	}
	return &Requester{
		events: o.Events, live: o.Live, clock: o.Clock, responds: o.Responds, clients: clients,
		written: newMemory(), pods: newPods(),
	}, nil
}

// Run works until ctx ends. It leaves nothing running.
func (r *Requester) Run(ctx context.Context) error {
	r.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](errorBackoffBase, errorBackoffCap),
		workqueue.TypedRateLimitingQueueConfig[types.UID]{Name: "requester", Clock: r.clock})
	factory := r.newInformer()
	stopListening, err := r.listen(ctx)
	if err != nil {
		return err
	}
	defer stopListening()
	ctx, stop := context.WithCancel(ctx)
	defer factory.Shutdown()
	defer stop()
	factory.StartWithContext(ctx)
	if !toolscache.WaitForCacheSync(ctx.Done(), r.requests.HasSynced) {
		return context.Cause(ctx)
	}
	r.work(ctx)
	return nil
}

// work lets the workers run until ctx ends.
func (r *Requester) work(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for r.pass(ctx) {
			}
		})
	}
	<-ctx.Done()
	r.queue.ShutDown()
	running.Wait()
}

// pass works on the next event in the queue. It is false when the queue is shut down.
func (r *Requester) pass(ctx context.Context) bool {
	event, shutdown := r.queue.Get()
	if shutdown {
		return false
	}
	defer r.queue.Done(event)
	began := r.clock.Now()
	failures := r.reconcile(ctx, event)
	switch {
	case ctx.Err() != nil:
		return true
	case len(failures) == 0:
		r.queue.Forget(event)
	default:
		tellFailures(ctx, event, failures)
		r.queue.AddRateLimited(event)
	}
	// A wait that was over while this pass went on, it may have missed.
	if due := r.pods.due(event, began); !due.IsZero() {
		r.queue.AddAfter(event, due.Sub(r.clock.Now()))
	}
	return true
}
