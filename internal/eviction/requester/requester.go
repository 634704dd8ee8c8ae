// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
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
	"github.com/slipway-k8s/slipway/internal/platform/quota"
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

// newRequestInformer builds the watch of this package's requests in all namespaces.
func newRequestInformer(clients kubernetes.Interface, _ time.Duration) toolscache.SharedIndexInformer {
	requests := clients.LifecycleV1alpha1().EvictionRequests(metav1.NamespaceAll)
	limit := quota.Limit{Kind: "EvictionRequest", Most: evictionrequest.MaxRequests, Group: quota.Namespace}
	return quota.NewInformer(limit, &evictionv1alpha1.EvictionRequest{}, clients,
		func(ctx context.Context, o metav1.ListOptions) (*evictionv1alpha1.EvictionRequestList, error) {
			o.LabelSelector = LabelEvent
			return requests.List(ctx, o)
		},
		func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = LabelEvent
			return requests.Watch(ctx, o)
		})
}

// slimRequest keeps the metadata that this package reads.
func slimRequest(obj any) (any, error) {
	r, is := obj.(*evictionv1alpha1.EvictionRequest)
	if !is {
		return obj, nil
	}
	r.ManagedFields, r.OwnerReferences = nil, nil
	maps.DeleteFunc(r.Labels, func(key, _ string) bool { return key != LabelEvent })
	maps.DeleteFunc(r.Annotations, func(key, _ string) bool { return key != AnnotationEvent && key != AnnotationNode })
	return r, nil
}

// newInformer indexes the watch by event.
func (r *Requester) newInformer() (factory informers.SharedInformerFactory, err error) {
	factory = informers.NewSharedInformerFactoryWithOptions(r.clients, 0, informers.WithTransform(slimRequest))
	r.requests, err = ownwrites.NewInformer(factory.InformerFor(&evictionv1alpha1.EvictionRequest{}, newRequestInformer),
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

const (
	// unanswered is the time for which a pod counts as a pod without responders: a new answer takes API requests.
	unanswered = time.Minute
	// The backoff between requests that all responders have failed.
	againBase = time.Minute
	againCap  = 16 * time.Minute
)

// memory has the notes about the pods that events name, by event, while the event names them.
type memory struct {
	mu     sync.Mutex
	events map[types.UID]map[podReference]Note
}

func newMemory() *memory { return &memory{events: map[types.UID]map[podReference]Note{}} }

func (m *memory) settle(event types.UID, pod podReference) {
	m.change(event, pod, func(n *Note) { n.Settled = true })
}

// wait begins a wait for a pod.
func (m *memory) wait(event types.UID, s Wait, now time.Time) {
	m.change(event, s.Pod, func(n *Note) {
		n.Request, n.Until = s.Request, now.Add(unanswered)
		if s.Request != "" {
			n.Until = now.Add(min(againBase<<min(n.Failures, 10), againCap))
			n.Failures++
		}
	})
}

func (m *memory) change(event types.UID, pod podReference, f func(*Note)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events[event] == nil {
		m.events[event] = map[podReference]Note{}
	}
	n := m.events[event][pod]
	f(&n)
	m.events[event][pod] = n
}

func (m *memory) of(event types.UID) map[podReference]Note {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.events[event])
}

// due returns the end of the event's next wait after now; zero without a wait.
func (m *memory) due(event types.UID, now time.Time) (next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.events[event] {
		if n.Until.After(now) && (next.IsZero() || n.Until.Before(next)) {
			next = n.Until
		}
	}
	return next
}

// keep drops the notes about other pods: a node may name any number of pods, one after the other.
func (m *memory) keep(event types.UID, named []podReference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := map[podReference]Note{}
	for _, pod := range named {
		if n, found := m.events[event][pod]; found {
			kept[pod] = n
		}
	}
	m.events[event] = kept
	if len(kept) == 0 {
		delete(m.events, event)
	}
}
