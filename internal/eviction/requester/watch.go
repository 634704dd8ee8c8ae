// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"errors"
	"fmt"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// byEvent is the index of requests by the UIDs of their events.
const byEvent = "event"

// newInformer watches the requests of this package, of all namespaces.
func (r *Requester) newInformer() informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactoryWithOptions(r.clients, 0,
		informers.WithTransform(unmanaged),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = LabelEvent }))
	r.requests = factory.Lifecycle().V1alpha1().EvictionRequests().Informer()
	return factory
}

// listen puts into the queue the event that has changed, and that of a request which has.
func (r *Requester) listen(ctx context.Context) (stop func(), err error) {
	indexed := r.requests.AddIndexers(toolscache.Indexers{byEvent: func(obj any) ([]string, error) {
		if event, own := requestOf(obj); own {
			return []string{string(event)}, nil
		}
		return nil, nil
	}})
	_, handled := r.requests.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    r.requestChanged,
		UpdateFunc: func(_, obj any) { r.requestChanged(obj) },
		DeleteFunc: r.requestGone,
	})
	if err := errors.Join(indexed, handled); err != nil {
		return nil, fmt.Errorf("watch EvictionRequests: %w", err)
	}
	events, err := r.events.GetInformer(ctx, &lifecyclev1alpha1.LifecycleEvent{})
	if err != nil {
		return nil, fmt.Errorf("watch LifecycleEvents: %w", err)
	}
	registration, err := events.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    r.eventChanged,
		UpdateFunc: func(_, obj any) { r.eventChanged(obj) },
		DeleteFunc: r.eventChanged,
	})
	if err != nil {
		return nil, fmt.Errorf("watch LifecycleEvents: %w", err)
	}
	return func() {
		if err := events.RemoveEventHandler(registration); err != nil {
			log.FromContext(ctx).Error(err, "Cannot stop to listen to LifecycleEvents")
		}
	}, nil
}

func (r *Requester) eventChanged(obj any) {
	if e, ok := present(obj).(*lifecyclev1alpha1.LifecycleEvent); ok {
		r.queue.Add(e.UID)
	}
}

func (r *Requester) requestChanged(obj any) {
	if event, own := requestOf(obj); own {
		r.queue.Add(event)
	}
}

func (r *Requester) requestGone(obj any) {
	obj = present(obj)
	if o, ok := obj.(metav1.Object); ok {
		r.written.forget(o.GetUID())
	}
	r.requestChanged(obj)
}

func requestOf(obj any) (event types.UID, own bool) {
	if request, ok := obj.(*evictionv1alpha1.EvictionRequest); ok {
		return eventOf(request)
	}
	return "", false
}

// present is the object that a watch tells of, also if it has missed when it went.
func present(obj any) any {
	if missed, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		return missed.Obj
	}
	return obj
}

// unmanaged leaves out who wrote what.
func unmanaged(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
