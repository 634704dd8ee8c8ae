// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/internal/platform/loop"
	"github.com/slipway-k8s/slipway/internal/platform/ownwrites"
)

const (
	// workers limits the events that are processed in parallel, and sideBySide the parallel steps of each: a node with
	// many pods delays no other node.
	workers    = 4
	sideBySide = 16

	eventUID = "uid"   // the index of LifecycleEvents by their UIDs
	byEvent  = "event" // the index of EvictionRequests by the UIDs of their events
)

// Responds reports whether a pod has a responder in addition to the last one, which every pod has.
type Responds func(context.Context, *corev1.Pod) (bool, error)

// ByPod reads the responders from the pod alone: its spec, or its annotation. An invalid annotation names no
// responder.
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
	// Responds selects, from the pods that an event names, the pods that get requests.
	Responds Responds
}

// Requester requests evictions.
type Requester struct {
	Options
	clients  kubernetes.Interface
	loop     *loop.Loop[types.UID] // by event
	requests ownwrites.Informer[*evictionv1alpha1.EvictionRequest]
	memory   *memory
}

// New returns a Requester. It sends no request.
func New(ctx context.Context, o Options) (*Requester, error) {
	config := rest.CopyConfig(o.Self)
	config.ContentType = "application/json" // CRDs know no other
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for EvictionRequests: %w", err)
	}
	index := func(e client.Object) []string { return []string{string(e.GetUID())} }
	if err := o.Events.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, eventUID, index); err != nil {
		return nil, fmt.Errorf("index the events by UID: %w", err)
	}
	return &Requester{Options: o, clients: clients, memory: newMemory()}, nil
}

// Run works until ctx ends. It leaves no goroutine running.
func (r *Requester) Run(ctx context.Context) (err error) {
	if r.loop, err = loop.New(ctx, "requester", "eventUID", workers, r.Clock, r); err != nil {
		return err
	}
	defer r.loop.Close()
	factory, err := r.newInformer()
	if err != nil {
		return err
	}
	stopListening, err := r.listen(ctx)
	if err != nil {
		return err
	}
	defer stopListening()
	watches, err := loop.Watch(ctx, factory, r.changed, nil, r.requests)
	if err != nil {
		return fmt.Errorf("watch EvictionRequests: %w", err)
	}
	defer watches.Close()
	if !watches.WaitForSync(ctx) {
		return context.Cause(ctx)
	}
	return r.loop.Run(ctx)
}

// newInformer builds the watch of this package's requests in all namespaces.
func (r *Requester) newInformer() (factory informers.SharedInformerFactory, err error) {
	factory = informers.NewSharedInformerFactoryWithOptions(r.clients, 0,
		informers.WithTransform(cache.TransformStripManagedFields()),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = LabelEvent }))
	r.requests, err = ownwrites.NewInformer(factory.Lifecycle().V1alpha1().EvictionRequests().Informer(),
		map[string]func(*evictionv1alpha1.EvictionRequest) []string{
			byEvent: func(request *evictionv1alpha1.EvictionRequest) []string {
				if event, own := eventOf(request); own {
					return []string{string(event)}
				}
				return nil
			},
		})
	return factory, err
}

// listen queues events that change in the process's cache.
func (r *Requester) listen(ctx context.Context) (stop func(), err error) {
	events, err := r.Events.GetInformer(ctx, &lifecyclev1alpha1.LifecycleEvent{})
	if err != nil {
		return nil, fmt.Errorf("watch LifecycleEvents: %w", err)
	}
	registration, err := events.AddEventHandler(loop.Handler(r.changed))
	if err != nil {
		return nil, fmt.Errorf("watch LifecycleEvents: %w", err)
	}
	return func() {
		if err := events.RemoveEventHandler(registration); err != nil {
			log.FromContext(ctx).Error(err, "Cannot stop listening to LifecycleEvents")
		}
	}, nil
}

// changed queues a changed event, or the event of a changed request.
func (r *Requester) changed(obj any) {
	switch o := obj.(type) {
	case *lifecyclev1alpha1.LifecycleEvent:
		r.loop.Add(o.UID)
	case *evictionv1alpha1.EvictionRequest:
		if event, own := eventOf(o); own {
			r.loop.Add(event)
		}
	}
}
