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
	toolscache "k8s.io/client-go/tools/cache"
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
	// workers is how many events are worked on at a time, and sideBySide how many steps of
	// each: a node with many pods delays no other.
	workers    = 4
	sideBySide = 16

	eventUID = "uid"   // the index of LifecycleEvents by their UIDs
	byEvent  = "event" // the index of EvictionRequests by the UIDs of their events
)

// Responds says whether a pod has a responder besides the one that comes last for every pod.
type Responds func(context.Context, *corev1.Pod) (bool, error)

// ByPod reads the responders from the pod alone: its spec, or its annotation. An invalid annotation
// names none.
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
	// Responds selects, from the pods that an event names, those for which requests are created.
	Responds Responds
}

// Requester requests evictions.
type Requester struct {
	events   cache.Cache
	live     client.Reader
	clock    clock.WithTicker
	responds Responds
	clients  kubernetes.Interface

	loop     *loop.Loop[types.UID] // by event
	requests toolscache.SharedIndexInformer
	written  *ownwrites.Writes[*evictionv1alpha1.EvictionRequest]
	pods     *pods
}

// New returns a Requester. It sends no request.
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
	return &Requester{events: o.Events, live: o.Live, clock: o.Clock, responds: o.Responds, clients: clients, pods: newPods()}, nil
}

// Run works until ctx ends. It leaves nothing running.
func (r *Requester) Run(ctx context.Context) (err error) {
	if r.loop, err = loop.New(ctx, "requester", "eventUID", workers, r.clock, r); err != nil {
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
func (r *Requester) newInformer() (informers.SharedInformerFactory, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(r.clients, 0,
		informers.WithTransform(cache.TransformStripManagedFields()),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = LabelEvent }))
	r.requests = factory.Lifecycle().V1alpha1().EvictionRequests().Informer()
	r.written = ownwrites.New[*evictionv1alpha1.EvictionRequest](r.requests.GetIndexer())
	err := r.requests.AddIndexers(toolscache.Indexers{byEvent: func(obj any) ([]string, error) {
		if event, own := requestOf(obj); own {
			return []string{string(event)}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("index EvictionRequests: %w", err)
	}
	return factory, nil
}

// listen has events reconciled that change in the process's cache.
func (r *Requester) listen(ctx context.Context) (stop func(), err error) {
	events, err := r.events.GetInformer(ctx, &lifecyclev1alpha1.LifecycleEvent{})
	if err != nil {
		return nil, fmt.Errorf("watch LifecycleEvents: %w", err)
	}
	registration, err := events.AddEventHandler(loop.Handler(r.changed))
	if err != nil {
		return nil, fmt.Errorf("watch LifecycleEvents: %w", err)
	}
	return func() {
		if err := events.RemoveEventHandler(registration); err != nil {
			log.FromContext(ctx).Error(err, "Cannot stop to listen to LifecycleEvents")
		}
	}, nil
}

// changed has an event reconciled that has changed, or of which a request has changed.
func (r *Requester) changed(obj any) {
	if e, ok := obj.(*lifecyclev1alpha1.LifecycleEvent); ok {
		r.loop.Add(e.UID)
	} else if event, own := requestOf(obj); own {
		r.loop.Add(event)
	}
}

func requestOf(obj any) (event types.UID, own bool) {
	if request, ok := obj.(*evictionv1alpha1.EvictionRequest); ok {
		return eventOf(request)
	}
	return "", false
}
